/** Whatever a terminal would act on, but for the end of a line. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const CONTROLS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g;

/** A text that may hold what others chose, such as names from a file, as a terminal can show it. */
export function visible(text: string): string {
  return text.replace(
    CONTROLS,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
