/** Pairs expected with received content blocks. */

import { getId } from "./align.js";
import { isEqual } from "./json.js";
import type { ExpectedBlock } from "./model.js";
import type { Block } from "./outcome.js";

/** The most pairs in the search for the best alignment; with more blocks, they are paired by position. */
const MAX_PAIRS = 250_000;

/**
 * Returns, for each expected block, the position of the received block that matches it, or null.
 *
 * If both lists have the same types, blocks match by position. Otherwise, the result is the in-order alignment with
 * the most pairs of equal type; of several, the one with the most equal names, texts and arguments.
 */
export function pairBlocks(expected: readonly ExpectedBlock[], got: readonly Block[]): (number | null)[] {
  const isSameAt = (i: number) => expected[i]?.type === got[i]?.type;
  // By position even if the values differ, so that a wrong text is one difference, not a lost and an extra block.
  if (expected.length === got.length && expected.every((_, i) => isSameAt(i))) return expected.map((_, i) => i);
  if (expected.length * got.length > MAX_PAIRS)
    return expected.map((_, i) => (i < got.length && isSameAt(i) ? i : null));
  const scores = scorePairs(expected, got);
  const best = sumScores(scores, got.length);
  const read = (i: number, j: number) => best[i]?.[j] ?? 0;
  let j = 0;
  return scores.map((row, i) => {
    while (j < got.length && read(i, j) === read(i, j + 1)) j += 1; // blocks that the best alignment leaves out
    const score = row[j] ?? 0;
    if (j >= got.length || score === 0 || read(i, j) !== read(i + 1, j + 1) + score) return null;
    j += 1;
    return j - 1;
  });
}

/** Returns the scores of each expected block with each received one, 0 for blocks that cannot match. */
function scorePairs(expected: readonly ExpectedBlock[], got: readonly Block[]): number[][] {
  // Larger than the total similarity of all pairs, so that the number of pairs takes precedence.
  const weight = 2 * Math.min(expected.length, got.length);
  const ids = new Set(expected.map(getId));
  const exact = got.map((block) => new Set(expected.flatMap((wanted, i) => (isExactly(wanted, block) ? [i] : []))));
  return expected.map((wanted, i) =>
    got.map((block, j) => {
      const equal = exact[j] as Set<number>;
      return scorePair(wanted, block, weight, ids, equal.size > 0 && !equal.has(i));
    }),
  );
}

/**
 * Returns the score of the best alignment of the blocks from each position on: a longest common subsequence,
 * weighted by similarity. One lost block is then one difference, rather than one in every later block.
 */
function sumScores(scores: readonly number[][], columns: number): number[][] {
  const best = Array.from({ length: scores.length + 1 }, () => new Array<number>(columns + 1).fill(0));
  for (let i = scores.length - 1; i >= 0; i -= 1) {
    const [row, below] = [best[i] as number[], best[i + 1] as number[]];
    for (let j = columns - 1; j >= 0; j -= 1) {
      const score = scores[i]?.[j] ?? 0;
      const paired = score > 0 ? (below[j + 1] ?? 0) + score : 0;
      row[j] = Math.max(paired, below[j] ?? 0, row[j + 1] ?? 0);
    }
  }
  return best;
}

/** Returns 0 for blocks that cannot match, and otherwise `weight` plus 1 to 3, by similarity. */
function scorePair(
  expected: ExpectedBlock,
  got: Block,
  weight: number,
  ids: ReadonlySet<string | null>,
  isOther: boolean,
): number {
  if (expected.type !== got.type) return 0;
  const [expectedId, gotId] = [getId(expected), got.id];
  if (expectedId !== null && gotId !== null) {
    if (expectedId === gotId) return weight + 3;
    if (ids.has(gotId)) return 0;
  }
  if (isOther) return 0;
  const isCall = got.type === "tool_call";
  const [leaf, value] = isCall ? [expected.fields.name, got.name] : [expected.fields.text, got.text];
  if (!(leaf && "equals" in leaf && isEqual(leaf.equals, value))) return weight + 1;
  // Some of several calls to one tool may be missing: the arguments show which.
  return weight + (isExactly(expected, got) ? 3 : 2);
}

/** Returns whether `got` is the call that is expected, with its name and arguments. */
function isExactly(expected: ExpectedBlock, got: Block): boolean {
  // A call that was cut has no arguments, like a call whose arguments are malformed.
  if (got.type !== "tool_call" || got.arguments === null || expected.type !== "tool_call") return false;
  const { name, arguments: args } = expected.fields;
  if (!(name && "equals" in name && args && "equals" in args)) return false;
  return isEqual(name.equals, got.name) && isEqual(args.equals, got.arguments);
}
