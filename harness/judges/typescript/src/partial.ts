/** Compares the content of a broken stream with the beginning of the complete content. */

import { type Aligned, align, findMislabeledCalls } from "./align.js";
import {
  checkBlockCount,
  checkCallOrder,
  checkLeaf,
  formatCall,
  formatPath,
  listTypes,
  MARKED_UNFINISHED,
  type Rules,
  readBlockField,
} from "./compare.js";
import { countCharacters } from "./json.js";
import { matchesLeaf, readText } from "./match.js";
import {
  type BlockType,
  type Check,
  checkRule,
  type Expectation,
  type ExpectedBlock,
  type Level,
  lower,
} from "./model.js";
import { type Block, isExecutable } from "./outcome.js";
import { pairBlocks } from "./pairs.js";

/** The most calls to show in a message. */
const MAX_CALLS = 3;
/** Fields that may be received in part. A thought's signature is not judged: a broken answer is not sent back. */
const PREFIX_FIELDS = ["text", "name", "arguments_text"];

/**
 * Returns the checks on the content of a stream that broke at the position in `expect.partial`.
 *
 * Blocks may be missing. Each received block must match one in the whole stream, in order, and its texts must be
 * beginnings. An executable call must have its complete arguments, and no more of the client's calls may be
 * executable than had ended. Text that had arrived should be kept.
 */
export function comparePartial(expect: Expectation, content: readonly Block[], rules: Rules): Check[] {
  const { content: named, partial } = expect;
  if (named === undefined || partial === undefined) return [];
  const { level } = rules;
  // A client that raises while it builds a call loses the call, and the texts around it become neighbors.
  const hasCalls = content.some((block) => block.type === "tool_call");
  const whole = named.filter(({ type }) => type !== "other" && (hasCalls || type !== "tool_call"));
  const calls = named.filter((block) => block.type === "tool_call");
  const aligned = align(whole, content, { ...rules, named: calls, separators: [] });
  const { expected, received } = aligned;
  const pairs = pairBlocks(expected, received);
  const mislabeled = findMislabeledCalls(named, expected, received);
  const executable = listExecutable(received, mislabeled);
  const ended = partial.calls_ended;
  const mayBeCut = executable.length > ended;
  const blocks = expected.flatMap((block, i) => {
    const position = pairs[i] ?? null;
    const checks = position === null ? [] : compareBlock(i, block, received[position] as Block, level);
    return mayBeCut ? checks.map(hideUnknownArguments) : checks;
  });
  const message = mayBeCut ? explainExecutable(executable, ended) : null;
  return [
    ...checkCallOrder(aligned, level),
    checkBlockCount(aligned, explainUnpaired(aligned, pairs), mislabeled, level),
    ...blocks,
    checkRule("content.complete_calls", level, message, ended, executable.length),
    checkKeptText(received, partial.text_arrived, lower(level, "should")),
  ];
}

/** Returns the client's calls that are reported as executable. A provider's own call is not run again. */
function listExecutable(received: readonly Block[], mislabeled: readonly Block[]): Block[] {
  const calls = received.filter((block) => block.type === "tool_call");
  return calls.filter((call) => call.executor === "client" && isExecutable(call) && !mislabeled.includes(call));
}

function checkKeptText(received: readonly Block[], arrived: number, level: Level): Check {
  const texts = received.filter((block) => block.type === "text");
  const kept = texts.reduce((sum, block) => sum + countCharacters(block.text), 0);
  const message = `${arrived} characters of text had arrived before the break, but the content has only ${kept}`;
  return checkRule("content.kept", level, kept < arrived ? message : null, arrived, kept);
}

/** Returns a message about the received blocks without a counterpart, or null if there are none. */
function explainUnpaired({ expected, received }: Aligned, pairs: readonly (number | null)[]): string | null {
  const unpaired = received.filter((_, position) => !pairs.includes(position));
  if (unpaired.length === 0) return null;
  const missing = expected.filter((_, i) => pairs[i] === null);
  const split = new Set(unpaired.map((block) => block.type).filter((type) => isSplit(type, expected, received)));
  const added = unpaired.filter((block) => !split.has(block.type));
  if (added.length === 0) return `blocks that are only parts of one in the complete stream: ${listTypes(unpaired)}`;
  const isMoved = added.every((block) => isElsewhere(block, missing));
  const problem = isMoved ? "at another place" : "not";
  return `blocks that are ${problem} in the complete stream: ${listTypes(added)}`;
}

/** Returns whether one of the missing blocks of the complete stream is this block, or more of it. */
function isElsewhere(block: Block, missing: readonly ExpectedBlock[]): boolean {
  const name = ["id", "text"].find((key) => readBlockField(block, key));
  if (name === undefined) return false;
  const value = readBlockField(block, name) as string;
  return missing.some(({ type, fields }) => type === block.type && readText(fields[name])?.startsWith(value));
}

/** Returns whether the texts of the received blocks of a type, joined, are a beginning of the complete text. */
function isSplit(type: BlockType, expected: readonly ExpectedBlock[], received: readonly Block[]): boolean {
  if (type !== "text" && type !== "thinking") return false;
  const texts = expected.filter((block) => block.type === type).map((block) => readText(block.fields.text));
  if (texts.length === 0 || texts.includes(null)) return false;
  const own = received.filter((block) => block.type === type).map((block) => block.text);
  return own.length > 1 && texts.join("").startsWith(own.join(""));
}

function explainExecutable(calls: readonly Block[], ended: number): string {
  const names = calls.slice(0, MAX_CALLS).map(formatCall).join(", ") + (calls.length > MAX_CALLS ? ", …" : "");
  if (calls.length === 1) {
    return `the call had not ended when the stream broke; it ${MARKED_UNFINISHED}; got ${names}`;
  }
  return (
    `${calls.length} calls are reported as executable, but only ${ended} had ended when the stream broke;` +
    ` each of the others ${MARKED_UNFINISHED}; got ${names}`
  );
}

/** If more calls are executable than had ended, nobody can know how the arguments of one would have ended. */
function hideUnknownArguments(check: Check): Check {
  if (check.verdict === "pass" || !check.path.endsWith(".tool_call.arguments")) return check;
  const message = `the arguments may have been cut; a call that had not ended ${MARKED_UNFINISHED}`;
  return { ...check, expected: null, message };
}

function compareBlock(i: number, expected: ExpectedBlock, got: Block, level: Level): Check[] {
  const { complete } = expected.fields;
  const mustBeWhole =
    got.type === "tool_call" && isExecutable(got) && complete !== undefined && matchesLeaf(complete, true);
  return Object.entries(expected.fields).flatMap(([name, leaf]) => {
    const [path, value, text] = [formatPath(i, expected, name), readBlockField(got, name), readText(leaf)];
    if (PREFIX_FIELDS.includes(name)) {
      // A field is null if nothing of it had arrived.
      return value !== null && text !== null ? [checkLeaf(path, { prefix_of: text }, value, level)] : [];
    }
    // A truncated call should have null arguments or be marked as incomplete.
    return name === "arguments" && mustBeWhole ? [checkLeaf(path, leaf, value, level)] : [];
  });
}
