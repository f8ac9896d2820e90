const LONGEST_QUOTE = 64;

/** What a client sent, on one line and of bounded length. */
export function quote(text: string): string {
  return JSON.stringify(text.length > LONGEST_QUOTE ? `${text.slice(0, LONGEST_QUOTE)}...` : text);
}
