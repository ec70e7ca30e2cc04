/** Makes text from elsewhere safe to print on one line. */

const LINE_WIDTH = 60;
const TAIL_WIDTH = 10;
/** Control characters, line ends, marks of the text's direction, and halves of surrogate pairs. */
const UNPRINTABLE = /(?! )[\p{C}\p{Z}]/gu;
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
]);

/** Returns a text with an escape in place of every character that has no shape. */
export function escapeUnprintable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => ESCAPES.get(character) ?? writeEscape(character.codePointAt(0) ?? 0));
}

function writeEscape(code: number): string {
  const [mark, width] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : (["U", 8] as const);
  return `\\${mark}${code.toString(16).padStart(width, "0")}`;
}

/** Returns a text on one line, shortened in the middle to `width` characters before it is escaped. */
export function escapeLine(text: string, width = LINE_WIDTH): string {
  const characters = Array.from(text);
  if (characters.length <= width) return escapeUnprintable(text);
  const start = characters.slice(0, width - TAIL_WIDTH - 2).join("");
  return escapeUnprintable(`${start}…${characters.slice(-TAIL_WIDTH).join("")}`);
}
