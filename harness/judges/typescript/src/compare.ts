/** Compares an outcome with an expectation: one check per judged leaf. */

import { type Aligned, align, type FindId, findMislabeledCalls, findSeparators, JOINED_TYPES } from "./align.js";
import { formatJson, hasUnsafeInteger, isEqual, isObject, type Json, type JsonObject, parseExactly } from "./json.js";
import { isLiterally, listPreferred, listValues, matchesLeaf, readText, serializeLeaf } from "./match.js";
import {
  type Check,
  type Claims,
  checkRule,
  type Expectation,
  type ExpectedBlock,
  type Leaf,
  type Leaves,
  type Level,
  lower,
  makeCheck,
  withLevel,
} from "./model.js";
import { type Block, type Decoded, isExecutable } from "./outcome.js";
import { pairBlocks } from "./pairs.js";
import { escapeLine } from "./printable.js";

/** How a trial is judged. */
export type Rules = {
  readonly claims: Claims;
  readonly level: Level;
  readonly ordered: boolean;
  readonly findId: FindId;
};

/** The capability that must be claimed for a path and all paths below it to be judged. */
const REQUIRED_CLAIMS: ReadonlyMap<string, string> = new Map([
  ["usage", "usage"],
  ["usage.input", "usage"],
  ["usage.output", "usage"],
  ["usage.reasoning", "usage_details"],
  ["usage.web_searches", "usage_details"],
  ["usage.cache_read", "cache_usage"],
  ["usage.cache_write", "cache_usage"],
  ["usage.cache_write_1h", "usage_details"],
  ["stop.raw", "raw_stop"],
  ["cost", "cost"],
  ["error", "errors"],
]);
/** The fields that a client that raises may drop with the content. */
const LOST_WITH_CONTENT = ["usage", "cost", "model", "response_id", "continuation"];
const HIDDEN_BUCKETS: readonly [string, string][] = [
  ["usage.cache_read", "cache reads"],
  ["usage.cache_write", "cache writes"],
];
const UNCACHED =
  "this is the part of the prompt that was not cached; " +
  "if the library counts the cached part separately, claim `cache_usage`";
export const BLOCK_MISSING = "content block missing";
export const MARKED_UNFINISHED = "must be left out, or have `complete: false` or `arguments: null`";
const SIGNATURE_AS_THINKING = "the signature of another block is reported as a thinking block without text";
/** The most types, calls and characters of a call's arguments in a message. */
const MAX_NAMES = 12;
const MAX_ARGUMENTS = 80;

/** Returns a check for every leaf that is judged; the content of a broken stream is compared in `partial.ts`. */
export function compareOutcome(expect: Expectation, outcome: Decoded, rules: Rules): Check[] {
  const isTolerant = mayLoseContent(expect, outcome);
  return [...compareFields(expect, outcome, rules, isTolerant), ...compareContent(expect, outcome, rules, isTolerant)];
}

function* compareFields(expect: Expectation, outcome: Decoded, rules: Rules, isTolerant: boolean): Generator<Check> {
  const { claims, level } = rules;
  for (const [path, leaf] of Object.entries(sumCacheUsage(expect.fields, claims))) {
    if (!isClaimed(path, claims) || isHidden(path, outcome, claims)) continue;
    const value = readField(outcome, path);
    const got = path === "echo" ? selectEcho(leaf, value) : value;
    const isLost = isTolerant && got === null && LOST_WITH_CONTENT.includes(getGroup(path));
    const check = checkLeaf(path, leaf, got, isLost ? lower(level, "should") : level);
    yield path === "usage.input" ? explainInput(check, expect.fields, outcome, claims) : check;
  }
}

function* compareContent(expect: Expectation, outcome: Decoded, rules: Rules, isTolerant: boolean): Generator<Check> {
  const { content, partial } = expect;
  if (content === undefined || partial !== undefined) return;
  const separators = findSeparators(content, outcome.content, rules.claims);
  const aligned = align(content, outcome.content, { ...rules, named: content, separators });
  yield* checkCallOrder(aligned, rules.level);
  const { expected, received } = aligned;
  const pairs = pairBlocks(expected, received);
  // Leaving out a call that must not be executed is as safe as marking it.
  const isLeftOut = (i: number) => pairs[i] === null && mustNotRun(expected[i] as ExpectedBlock);
  // A client that raises may drop blocks, but a block that was never sent is still wrong.
  const isOnlyLess = received.length === pairs.filter((position) => position !== null).length;
  const lossLevel = isTolerant ? lower(rules.level, "should") : rules.level;
  const lengthLevel = isOnlyLess ? lossLevel : rules.level;
  const leftOut = pairs.filter((_, i) => isLeftOut(i)).length;
  yield checkLength(aligned, leftOut, findMislabeledCalls(content, expected, received), lengthLevel);
  for (const [i, block] of expected.entries()) {
    const position = pairs[i] ?? null;
    if (isLeftOut(i)) {
      // These checks always pass; they exist so that a trial's checks do not depend on the answer.
      for (const [name, leaf] of Object.entries(block.fields)) {
        yield makeCheck(formatPath(i, block, name), rules.level, true, serializeLeaf(leaf));
      }
    } else if (position === null) {
      for (const [name, leaf] of Object.entries(block.fields)) {
        if (isClaimedField(name, rules.claims)) yield checkMissing(formatPath(i, block, name), leaf, lossLevel);
      }
    } else {
      yield* compareBlock(i, block, received[position] as Block, rules, isTolerant);
    }
  }
}

/** Returns whether a value that an outcome leaves out may be left out; a claim of `stop` promises a reason. */
function isHidden(path: string, outcome: Decoded, claims: Claims): boolean {
  return outcome.absent.has(path) && !(path === "stop.reason" && claims.has("stop"));
}

function isClaimed(path: string, claims: Claims): boolean {
  const need = getRequiredClaim(path);
  return need === undefined || claims.has(need);
}

/** Returns the capability without which the field at a path is not judged. */
export function getRequiredClaim(path: string): string | undefined {
  return REQUIRED_CLAIMS.get(path) ?? REQUIRED_CLAIMS.get(getGroup(path));
}

export function getGroup(path: string): string {
  return path.split(".", 1)[0] as string;
}

/** Without `cache_usage`, `usage.input` includes cache reads and writes: many libraries report one number. */
export function sumCacheUsage(fields: Leaves, claims: Claims): Leaves {
  if (!("usage.input" in fields) || claims.has("cache_usage")) return fields;
  const sums = listSums(fields, listValues);
  if (sums.length === 0) return fields;
  const preferred = listSums(fields, listPreferred);
  const isNarrower = !isEqual(preferred, sums) && preferred.length > 0;
  const leaf: Leaf =
    sums.length === 1 ? { equals: sums[0] as Json } : { any_of: sums, ...(isNarrower && { prefer: preferred }) };
  return { ...fields, "usage.input": leaf };
}

/** Returns the possible sums of input, cache reads and cache writes, null first. */
function listSums(fields: Leaves, list: (leaf: Leaf | undefined) => readonly Json[] | null): Json[] {
  let sums = new Set(list(fields["usage.input"]) ?? []);
  for (const [path] of HIDDEN_BUCKETS) {
    // A bucket that is null or absent adds nothing to the sum, and neither does a matcher, which lists no values.
    const parts = list(fields[path]) ?? [0];
    sums = new Set([...sums].flatMap((one) => parts.map((part) => (one === null ? null : Number(one) + Number(part)))));
  }
  return [...sums].sort((one, other) => (one === null ? -1 : other === null ? 1 : Number(one) - Number(other)));
}

/** Returns the check on the input count, with a message if its difference is one of cached tokens. */
function explainInput(check: Check, fields: Leaves, outcome: Decoded, claims: Claims): Check {
  const uncached = fields["usage.input"];
  if (check.verdict === "pass" || uncached === undefined) return check;
  const values = `expected ${formatJson(check.expected)}, got ${formatJson(check.got)}`;
  const isSum = !isEqual(check.expected, serializeLeaf(uncached));
  if (isSum && matchesLeaf(uncached, check.got)) return { ...check, message: `${values}; ${UNCACHED}` };
  // An adapter cannot subtract a number that the library does not expose.
  const hidden = HIDDEN_BUCKETS.filter(([path]) => path in fields && outcome.absent.has(path));
  if (!claims.has("cache_usage") || hidden.length === 0 || check.got === null) return check;
  const paths = ["usage.input", ...hidden.map(([path]) => path)];
  const named = Object.fromEntries(Object.entries(fields).filter(([path]) => paths.includes(path)));
  if (!listSums(named, listValues).some((sum) => isEqual(sum, check.got))) return check;
  const buckets = hidden.map(([, name]) => name).join(" and ");
  const message = `${values}; this includes the number of ${buckets}, which is not exposed`;
  return withLevel(check, lower(check.level, "should"), message);
}

/** Returns whether the outcome correctly reports that the stream broke or failed; then losing content is safe. */
function mayLoseContent(expect: Expectation, outcome: Decoded): boolean {
  const { status } = expect.fields;
  return status !== undefined && outcome.status !== "complete" && matchesLeaf(status, outcome.status);
}

/** Returns the check that the calls are in the order of the stream, if there are several. */
export function checkCallOrder({ expected, formerIds }: Aligned, level: Level): Check[] {
  if (expected.filter((block) => block.type === "tool_call").length < 2) return [];
  // The order alone does not matter to an agent that runs the calls: results refer to them by id.
  const message = `the calls are in another order than in the stream: ${formerIds.slice(0, MAX_NAMES).join(", ")}`;
  return [checkRule("content.order", lower(level, "should"), formerIds.length > 0 ? message : null)];
}

function checkLength(aligned: Aligned, leftOut: number, mislabeled: readonly Block[], level: Level): Check {
  const [expected, got] = [aligned.expected.length, aligned.received.length];
  const message =
    `expected ${expected.toLocaleString("en-US")} ${expected === 1 ? "block" : "blocks"} ` +
    `${formatTypes(aligned.expected)}, got ${got} ${formatTypes(aligned.received)}`;
  return checkBlockCount(aligned, expected - leftOut === got ? null : message, mislabeled, level);
}

/** Returns the check on the number of blocks: a warning if only signatures are in excess. */
export function checkBlockCount(
  { expected, received, moved }: Aligned,
  message: string | null,
  mislabeled: readonly Block[],
  level: Level,
): Check {
  const [isWarning, path] = [message === null && moved > 0, "content.length"];
  const calls = mislabeled.slice(0, MAX_NAMES).map(formatCall).join(", ");
  const named = calls && `; calls that the provider ran are reported as the client's: ${calls}`;
  const text = isWarning ? SIGNATURE_AS_THINKING : message && message + named;
  return checkRule(path, isWarning ? lower(level, "should") : level, text, expected.length, received.length);
}

function* compareBlock(
  i: number,
  expected: ExpectedBlock,
  got: Block,
  { claims, level }: Rules,
  isTolerant: boolean,
): Generator<Check> {
  const call = got.type === "tool_call" ? got : null;
  const isUnfinished = isExpectedUnfinished(expected, call) || (isTolerant && call?.complete === false);
  const softened = (isLoss: boolean) => (isTolerant && isLoss ? lower(level, "should") : level);
  for (const [name, leaf] of Object.entries(expected.fields)) {
    if (!isClaimedField(name, claims) || (name === "arguments" && isUnfinished)) continue;
    const raw = readBlockField(got, name);
    const value = name === "signature" && raw === "" ? null : raw; // the two are equivalent
    const path = formatPath(i, expected, name);
    if (call && (name === "complete" || name === "arguments") && mustNotRun(expected)) {
      yield checkNotExecutable(path, name, leaf, call, level);
      continue;
    }
    if (isNotExposed(expected, name, got)) continue;
    if (name === "echo") yield checkLeaf(path, leaf, selectEcho(leaf, value), level);
    else if (name === "citations" && "equals" in leaf) {
      yield checkCitations(path, leaf.equals as JsonObject[], value as JsonObject[], softened(true));
    } else yield checkLeaf(path, leaf, value, softened(isPart(leaf, name, value)));
  }
}

/** Returns the members that a case names; the provider may add others at any time. */
function selectEcho(leaf: Leaf, got: Json): Json {
  if (!isObject(got) || !("equals" in leaf) || !isObject(leaf.equals)) return got;
  const named = Object.keys(leaf.equals).filter((name) => Object.hasOwn(got, name));
  return Object.fromEntries(named.map((name) => [name, got[name] as Json]));
}

/** Returns the check that a truncated or malformed call is not executable, in whichever way the library says so. */
function checkNotExecutable(path: string, name: string, leaf: Leaf, got: Block, level: Level): Check {
  const [expected, value] = [serializeLeaf(leaf), readBlockField(got, name)];
  const saysSo = isLiterally(leaf, name === "complete" ? false : null);
  if (!(saysSo && isExecutable(got))) return makeCheck(path, level, true, expected, value);
  const message = `a call that must not be executed is reported as executable: ${formatCall(got)}; it ${MARKED_UNFINISHED}`;
  return checkRule(path, level, message, expected, value);
}

/** Returns the check on a text's citations; a key that the implementation leaves out is not judged. */
function checkCitations(path: string, wanted: readonly JsonObject[], got: readonly JsonObject[], level: Level): Check {
  const judged = new Set(wanted.flatMap(Object.keys));
  const shown: JsonObject[] = got.map((citation) =>
    Object.fromEntries(Object.entries(citation).filter(([key]) => judged.has(key))),
  );
  const isSame = (citation: JsonObject, i: number) =>
    Object.entries(citation).every(([key, value]) => {
      const other = shown[i]?.[key];
      return other === undefined || isEqual(value, other);
    });
  return makeCheck(path, level, wanted.length === shown.length && wanted.every(isSame), [...wanted], shown);
}

/** Returns whether an implementation does not expose a field of a block. */
function isNotExposed(expected: ExpectedBlock, name: string, got: Block): boolean {
  if (got.absent.has(name)) return true;
  if (got.type !== "tool_call") return false;
  // Many libraries expose only the parsed arguments.
  if (name === "arguments_text" && got.arguments_text === null) {
    const { arguments: args, arguments_text: text } = expected.fields;
    return args === undefined ? isTextIn(got.arguments, readText(text)) : matchesLeaf(args, got.arguments);
  }
  // Libraries that return only complete calls have no such flag.
  return name === "complete" && got.complete === null;
}

/** Returns whether arguments have a text in some form: as it is, as JSON, or in an object. */
function isTextIn(args: Json, text: string | null): boolean {
  if (text === null) return true;
  const forms: Json[] = [text];
  try {
    forms.push(parseExactly(text));
  } catch {
    // The text of a custom tool is not JSON.
  }
  const values = [args, ...(isObject(args) ? Object.values(args) : [])];
  return forms.some((form) => values.some((value) => isEqual(form, value)));
}

/** Returns whether a value is a part of the expected one that can remain if content was lost. */
function isPart(leaf: Leaf, name: string, value: Json): boolean {
  if (name === "complete") return value === false;
  if (value === null) return true;
  return typeof value === "string" && (readText(leaf)?.startsWith(value) ?? false);
}

/** Returns whether a call must not be executed, because it did not end or its arguments are not JSON. */
function mustNotRun({ type, fields }: ExpectedBlock): boolean {
  return type === "tool_call" && (isLiterally(fields.complete, false) || isLiterally(fields.arguments, null));
}

/** Returns whether a call did not end, in which case its arguments are not checked. */
function isExpectedUnfinished({ fields: { complete } }: ExpectedBlock, call: Block | null): boolean {
  if (isLiterally(complete, false)) return true;
  // If the case accepts a call that did not end, the client may report it as open, without final arguments.
  return call !== null && !isExecutable(call) && complete !== undefined && matchesLeaf(complete, false);
}

function isClaimedField(name: string, claims: Claims): boolean {
  return name !== "signature" || claims.has("signatures");
}

export function checkLeaf(path: string, leaf: Leaf, got: Json, level: Level): Check {
  const own = softenUnsafe(leaf, level);
  const isMoney = path.startsWith("cost.") && path !== "cost.currency";
  const holds = matchesLeaf(leaf, got, isMoney);
  const preferred = "any_of" in leaf ? leaf.prefer : undefined;
  const isSecondBest = holds && preferred !== undefined && !matchesLeaf({ any_of: preferred }, got, isMoney);
  return makeCheck(path, isSecondBest ? lower(own, "should") : own, holds && !isSecondBest, serializeLeaf(leaf), got);
}

/** Returns the failed check on a leaf of a block that is missing. */
function checkMissing(path: string, leaf: Leaf, level: Level): Check {
  return makeCheck(path, softenUnsafe(leaf, level), false, serializeLeaf(leaf), null, BLOCK_MISSING);
}

/** Some languages cannot represent a large integer exactly, so a difference is at most a warning. */
function softenUnsafe(leaf: Leaf, level: Level): Level {
  return "equals" in leaf && hasUnsafeInteger(leaf.equals) ? lower(level, "should") : level;
}

/** Returns the value at a path outside the content, or null if it is absent. */
function readField(outcome: Decoded, path: string): Json {
  const [group = "", name] = path.split(".");
  const value = outcome[group as "usage"] as Json;
  if (name !== undefined) return isObject(value) ? (value[name] ?? null) : null;
  // `usage: null` stands for usage without any count.
  const isUnknown = group === "usage" && isObject(value) && Object.values(value).every((count) => count === null);
  return isUnknown ? null : value;
}

export function readBlockField(block: Block, name: string): Json {
  return block[name as "data"];
}

/** Returns the path of the check on a field of a block. */
export function formatPath(i: number, { type }: ExpectedBlock, name: string): string {
  return `content.${i}.${formatBlockPath(type, name)}`;
}

export function formatBlockPath(type: string, name: string): string {
  return name === "text" && JOINED_TYPES.includes(type) ? type : `${type}.${name}`;
}

/** Returns a call on one line, with its arguments shortened: `get_time({"city": "Oslo"})`. */
export function formatCall(call: Block): string {
  const name = escapeLine(call.name || "a call without a name");
  return `${name}(${escapeLine(formatJson(call.arguments), MAX_ARGUMENTS)})`;
}

/** Returns the types of blocks, abbreviated: `[text, tool_call]`. */
function formatTypes(blocks: readonly { type: string }[]): string {
  return `[${listTypes(blocks)}${blocks.length > MAX_NAMES ? ", …" : ""}]`;
}

export function listTypes(blocks: readonly { type: string }[]): string {
  return blocks
    .slice(0, MAX_NAMES)
    .map((block) => block.type)
    .join(", ");
}
