/** What csi.v1 lets a string have where nothing else is specified, in bytes of UTF-8 (section "Size Limits"). */
const MAX_BYTES = 128;
const ELLIPSIS = "...";

/** The text as it may go into a response: truncated between two characters, with a mark, where it is too long. */
export function shortText(text: string): string {
  if (Buffer.byteLength(text) <= MAX_BYTES) return text;
  let kept = "";
  let bytes = ELLIPSIS.length;
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > MAX_BYTES) break;
    kept += character;
  }
  return kept + ELLIPSIS;
}
