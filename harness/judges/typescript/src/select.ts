/** Matches ids with patterns: `*` stands for one component of an id or a part of it, `**` for any number. */

/** The parts of a pattern for `case@delivery:check`; a part that is not restricted is null. */
export type Pattern = { readonly case: RegExp; readonly delivery: RegExp | null; readonly check: RegExp | null };

const WILDCARDS: ReadonlyMap<string, string> = new Map([
  ["**", ".*"],
  ["*", "[^/@:.]*"],
]);

export function compileGlob(pattern: string): RegExp {
  const parts = pattern
    .split(/(\*\*|\*)/)
    .map((part) => WILDCARDS.get(part) ?? part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${parts.join("")}$`, "s");
}

/** Without `@`, a pattern matches all trials of a case; without `:`, no check. */
export function splitPattern(pattern: string): Pattern {
  const [subject = "", check] = splitAt(pattern, ":");
  const [id = "", delivery] = splitAt(subject, "@");
  const compile = (part: string | undefined) => (part === undefined ? null : compileGlob(part));
  return { case: compileGlob(id), delivery: compile(delivery), check: compile(check) };
}

function splitAt(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/** Returns whether a pattern selects a trial; one without `*` and `/` matches every id that contains it. */
export function matchesId(pattern: string, id: string): boolean {
  if (!/[*/]/.test(pattern)) return id.includes(pattern);
  return compileGlob(pattern).test(pattern.includes("@") ? id : (id.split("@", 1)[0] as string));
}
