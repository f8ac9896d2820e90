/** Whatever a terminal would act on: the controls of ASCII, of Latin-1, and of lines and directions. */
const CONTROLS =
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A text on one line that cannot act on a terminal, whoever chose it. */
export function visible(text: string): string {
  return text.replaceAll(
    CONTROLS,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The same of a text of several lines. */
export function visibleLines(text: string): string {
  return text.split('\n').map(visible).join('\n');
}
