/**
 * Gives expected and received content blocks the same form.
 *
 * Dropped on both sides: `other` blocks of kinds that the case does not name, types that are not claimed, empty
 * text and refusals, thinking without text or signature, and calls of the provider that the case does not name.
 * Adjacent texts are joined, unless a phase or a signature that the case names separates them.
 */

import { countCharacters, isEqual, isNumber, type Json, type JsonObject } from "./json.js";
import { digestText, isLiterally, listValues, matchesLeaf, measureDigest, readText } from "./match.js";
import type { BlockType, Claims, ExpectedBlock, Leaf } from "./model.js";
import type { Block } from "./outcome.js";

/** Returns the position of the first mention of an id or a signature in the stream, or null. */
export type FindId = (id: string) => number | null;

type Digest = [number, string][];

/** The types whose field `text` has the name of the type in the paths of checks. */
export const JOINED_TYPES: readonly string[] = ["text", "refusal"];
/** The order in which blocks are compared if the API does not order the blocks of a message. */
const RANKS: readonly BlockType[] = ["thinking", "text", "refusal", "tool_call", "other"];
/** The fields that may separate adjacent texts. */
const SEPARATORS = ["phase", "signature"];
const NULL: Leaf = { equals: null };

/** The blocks to compare. */
export type Aligned = {
  readonly expected: readonly ExpectedBlock[];
  readonly received: readonly Block[];
  /** The ids of the calls as they were received, if that is not the stream's order. */
  readonly formerIds: readonly string[];
  /** The number of signatures that were reported as a block of their own. */
  readonly moved: number;
};

/** How blocks are aligned: `named` are all blocks that the case names. */
export type Alignment = {
  readonly claims: Claims;
  readonly named: readonly ExpectedBlock[];
  readonly ordered: boolean;
  readonly findId: FindId;
  readonly separators: readonly string[];
};

/** Normalizes both sides, and gives the received blocks the form and the order of the expected ones. */
export function align(expected: readonly ExpectedBlock[], received: readonly Block[], how: Alignment): Aligned {
  const wanted = normalizeExpected(expected, findHidden(received), how);
  const returned = returnSignatures(wanted, normalizeReceived(received, how), how.findId);
  const [blocks, formerIds] = orderCallsById(wanted, joinSplitThoughts(wanted, returned.blocks), how.findId);
  return { expected: wanted, received: blocks, formerIds, moved: returned.moved };
}

/** Returns the fields that separate adjacent texts: those the case names and every text exposes. */
export function findSeparators(
  expected: readonly ExpectedBlock[],
  received: readonly Block[],
  claims: Claims,
): readonly string[] {
  const isNamed = (name: string) => expected.some((block) => block.type === "text" && name in block.fields);
  const isAbsent = (name: string) => received.some((block) => block.type === "text" && block.absent.has(name));
  return SEPARATORS.filter(
    (name) => isNamed(name) && !isAbsent(name) && (name !== "signature" || claims.has("signatures")),
  );
}

/** Returns the keys of thinking that are left out of all received thinking. */
function findHidden(received: readonly Block[]): ReadonlySet<string> {
  const [first, ...others] = received.filter((block) => block.type === "thinking");
  return new Set([...(first?.absent ?? [])].filter((key) => others.every((block) => block.absent.has(key))));
}

function normalizeExpected(
  blocks: readonly ExpectedBlock[],
  hidden: ReadonlySet<string>,
  { claims, ordered, separators }: Alignment,
): ExpectedBlock[] {
  const isApart = (block: ExpectedBlock) => isSigned(block, claims) || isRedacted(block);
  const canJoin = (before: ExpectedBlock, block: ExpectedBlock): boolean => {
    if (before.type !== block.type) return false;
    if (block.type === "thinking") return !ordered && !isApart(before) && !isApart(block);
    if (block.type !== "text") return block.type === "refusal";
    if (separators.includes("signature") && isSigned(before, claims)) return false;
    return !separators.includes("phase") || isSameLeaf(before.fields.phase, block.fields.phase);
  };
  const kept = blocks.filter((block) => isExpected(block, claims, separators) && !isOnlyHidden(block, hidden));
  return splitRuns(sortUnless(ordered, kept), canJoin).map(joinExpected);
}

function normalizeReceived(blocks: readonly Block[], { claims, named, ordered, separators }: Alignment): Block[] {
  const kinds = named.filter((block) => block.type === "other").map((block) => block.fields.kind);
  const calls = named.filter((block) => block.type === "tool_call");
  const canJoin = (before: Block, block: Block): boolean => {
    if (before.type === "text" && block.type === "text") {
      if (separators.includes("signature") && before.signature) return false;
      return !separators.includes("phase") || before.phase === block.phase;
    }
    if (before.type === "thinking" && block.type === "thinking" && !before.redacted && !block.redacted) {
      return !(ordered || (claims.has("signatures") && (before.signature || block.signature)));
    }
    return before.type === "refusal" && block.type === "refusal";
  };
  const judged = blocks.filter(
    (block) =>
      isJudged(block, claims, separators, kinds) &&
      !(block.type === "tool_call" && block.executor === "provider" && !calls.some((call) => names(call, block))),
  );
  return splitRuns(sortUnless(ordered, judged), canJoin).map(joinReceived);
}

/** Returns blocks sorted by type, with calls in their order, if the API does not order blocks. */
function sortUnless<B extends Block | ExpectedBlock>(ordered: boolean, blocks: readonly B[]): readonly B[] {
  return ordered ? blocks : blocks.toSorted((one, other) => RANKS.indexOf(one.type) - RANKS.indexOf(other.type));
}

/** Returns the blocks in runs of neighbors that can be joined; joining each at once takes linear time. */
function splitRuns<B>(blocks: readonly B[], canJoin: (before: B, block: B) => boolean): B[][] {
  const runs: B[][] = [];
  let before: B | undefined;
  for (const block of blocks) {
    if (before !== undefined && canJoin(before, block)) runs.at(-1)?.push(block);
    else runs.push([block]);
    before = block;
  }
  return runs;
}

/** Joins the pieces of each thought of which only the last piece has a signature. */
function joinSplitThoughts(expected: readonly ExpectedBlock[], received: readonly Block[]): Block[] {
  const thoughts = expected.filter((block) => block.type === "thinking");
  // If the stream broke, not all thoughts arrived, so the number of blocks does not show that one is split.
  const hasPieces = thoughts.length < received.filter((block) => block.type === "thinking").length;
  const joined: Block[] = [];
  let thought: ExpectedBlock | undefined;
  for (const block of received) {
    const last = joined.at(-1);
    if (block.type === "thinking" && !block.redacted) {
      if (thought && last?.type === "thinking" && !last.signature && !last.redacted) {
        const text = last.text + block.text;
        const begins = block.text !== "" && (readText(thought.fields.text)?.startsWith(text) ?? false);
        if (measureText(thought) >= countCharacters(text) && (hasPieces || begins)) {
          joined[joined.length - 1] = { ...block, text };
          continue;
        }
      }
      thought = thoughts.shift();
    }
    joined.push(block);
  }
  return joined;
}

/** Returns the length of an expected text, at most, or 0 if it is unknown. */
function measureText(block: ExpectedBlock): number {
  const leaf = block.fields.text;
  if (leaf && "digest" in leaf) return measureDigest(leaf.digest);
  const texts = (listValues(leaf) ?? []).filter((value) => typeof value === "string");
  return Math.max(0, ...texts.map(countCharacters));
}

/** Returns signatures of calls and texts that are reported as thinking without text to the blocks that follow. */
function returnSignatures(
  expected: readonly ExpectedBlock[],
  received: readonly Block[],
  findId: FindId,
): { blocks: Block[]; moved: number } {
  const hasThoughts = expected.some((block) => block.type === "thinking");
  const others = expected.filter((block) => block.type !== "thinking").map((block) => block.fields.signature);
  const isMoved = (block: Block): boolean => {
    if (block.type !== "thinking" || block.text || block.redacted || !block.signature) return false;
    const { signature } = block;
    // A case need not name the signature, but the stream has it. It may belong to any thought.
    return (
      others.some((leaf) => leaf !== undefined && matchesLeaf(leaf, signature)) ||
      (!hasThoughts && findId(signature) !== null)
    );
  };
  const blocks: Block[] = [];
  let signature: string | null = null;
  let moved = 0;
  for (const block of received) {
    if (isMoved(block)) {
      signature = block.signature;
      moved += 1;
      continue;
    }
    const takes = signature !== null && (block.type === "tool_call" || block.type === "text") && !block.signature;
    const absent = new Set([...block.absent].filter((key) => key !== "signature"));
    blocks.push(takes ? { ...block, signature, absent } : block);
    signature = null;
  }
  return { blocks, moved };
}

/** Puts the calls that both sides have by id in the order of the stream; returns their former order if it differs. */
function orderCallsById(
  expected: readonly ExpectedBlock[],
  received: readonly Block[],
  findId: FindId,
): [readonly Block[], readonly string[]] {
  const calls = new Map<number, Block>();
  for (const [i, block] of received.entries()) if (block.type === "tool_call") calls.set(i, block);
  const positions = findPositions(
    expected.filter((block) => block.type === "tool_call"),
    calls,
    findId,
  );
  const places = [...positions.keys()];
  const inOrder = places.toSorted((one, other) => (positions.get(one) ?? 0) - (positions.get(other) ?? 0));
  const ids = places.map((place) => calls.get(place)?.id ?? "");
  if (places.every((place, i) => place === inOrder[i]) || new Set(ids).size < ids.length) return [received, []];
  const blocks = [...received];
  for (const [i, place] of places.entries()) blocks[place] = received[inOrder[i] as number] as Block;
  return [blocks, ids];
}

/** Maps the calls that both sides have by id to the positions of the ids in the stream. */
function findPositions(
  expected: readonly ExpectedBlock[],
  calls: ReadonlyMap<number, Block>,
  findId: FindId,
): ReadonlyMap<number, number> {
  const ids = expected.map(getId);
  const places = new Map(ids.map((id, place) => [id, place]));
  const isNamed = !places.has(null) && places.size === ids.length;
  const received = [...calls.values()];
  const isSame = () => received.every((call, i) => isSameCall(expected[i] as ExpectedBlock, call));
  if (!isNamed && (received.length > ids.length || isSame())) return new Map();
  const positions = new Map<number, number>();
  for (const [i, { id }] of calls) {
    const position = isNamed ? places.get(id) : id === null ? null : findId(id);
    if (position !== undefined && position !== null) positions.set(i, position);
  }
  // If the case does not name each call by an id of its own, all calls must have ids that are in the stream.
  return isNamed || positions.size === calls.size ? positions : new Map();
}

function isSameCall({ fields }: ExpectedBlock, call: Block): boolean {
  const matches = (leaf: Leaf | undefined, value: Json) => leaf === undefined || matchesLeaf(leaf, value);
  return matches(fields.name, call.name) && matches(fields.arguments, call.arguments);
}

export function getId(block: ExpectedBlock): string | null {
  return readText(block.fields.id);
}

/** Returns the received calls of the client that the case names as calls of the provider. */
export function findMislabeledCalls(
  named: readonly ExpectedBlock[],
  expected: readonly ExpectedBlock[],
  received: readonly Block[],
): Block[] {
  const runs = named.filter((block) => block.type === "tool_call" && isLiterally(block.fields.executor, "provider"));
  if (runs.length === 0) return []; // a search among thousands of calls takes minutes
  const own = expected.filter((block) => block.type === "tool_call" && !runs.some((run) => isSameBlock(run, block)));
  return received.filter((block) => {
    if (block.type !== "tool_call" || block.executor === "provider") return false;
    // A tool of the provider and one of the client may have the same name; then the id decides.
    const isOwn = own.some((call) => names(call, block) && [null, block.id].includes(getId(call)));
    return !isOwn && runs.some((run) => names(run, block));
  });
}

/** Returns whether the case means the call `block` by `call`; a wrong value in it is then a difference. */
function names(call: ExpectedBlock, block: Block): boolean {
  const { id, name, arguments: args } = call.fields;
  const hasId = id !== undefined && "equals" in id;
  if (hasId && id.equals !== null && id.equals === block.id) return true;
  if (name === undefined) return false;
  if (!("present" in name)) return matchesLeaf(name, block.name);
  if (hasId && block.id !== null) return false;
  // `present` fits every name, so only the arguments tell which call is meant.
  return args === undefined || matchesLeaf(args, block.arguments);
}

function isExpected(block: ExpectedBlock, claims: Claims, separators: readonly string[]): boolean {
  const { text, executor } = block.fields;
  const isEmpty = isLiterally(text, "");
  switch (block.type) {
    case "text":
      return !isEmpty || (separators.includes("signature") && isSigned(block, claims));
    case "refusal":
      return claims.has("refusals") && !isEmpty;
    case "thinking":
      return (
        claims.has("thinking") &&
        (isSigned(block, claims) || isRedacted(block) || !(isEmpty || isLiterally(text, null)))
      );
    case "tool_call":
      return claims.has(isLiterally(executor, "provider") ? "provider_tools" : "tool_calls");
    case "other":
      return true;
  }
}

function isJudged(
  block: Block,
  claims: Claims,
  separators: readonly string[],
  kinds: readonly (Leaf | undefined)[],
): boolean {
  switch (block.type) {
    case "text":
      return block.text !== "" || (separators.includes("signature") && Boolean(block.signature));
    case "refusal":
      return claims.has("refusals") && block.text !== "";
    case "thinking": {
      const isSigned = claims.has("signatures") && Boolean(block.signature);
      return claims.has("thinking") && (isSigned || block.redacted || block.text !== "");
    }
    case "tool_call":
      return claims.has(block.executor === "provider" ? "provider_tools" : "tool_calls");
    case "other":
      return kinds.some((leaf) => isLiterally(leaf, block.kind));
  }
}

/** Returns whether nothing in the implementation can show a thought, because it consists of hidden keys only. */
function isOnlyHidden(block: ExpectedBlock, hidden: ReadonlySet<string>): boolean {
  const { text = NULL } = block.fields;
  if (block.type !== "thinking" || !(isLiterally(text, null) || isLiterally(text, ""))) return false;
  return hidden.has("signature") && (hidden.has("redacted") || !isRedacted(block));
}

function isSigned(block: ExpectedBlock, claims: Claims): boolean {
  const { signature = NULL } = block.fields;
  return claims.has("signatures") && !(isLiterally(signature, null) || isLiterally(signature, ""));
}

function isRedacted(block: ExpectedBlock): boolean {
  return isLiterally(block.fields.redacted, true);
}

function isSameLeaf(one: Leaf = NULL, other: Leaf = NULL): boolean {
  return isEqual(one as Json, other as Json);
}

function isSameBlock(one: ExpectedBlock, other: ExpectedBlock): boolean {
  return one.type === other.type && isEqual(one.fields as Json, other.fields as Json);
}

/** Joins expected blocks; if one of the texts is a matcher, the joined text is not checked. */
function joinExpected(blocks: readonly ExpectedBlock[]): ExpectedBlock {
  const last = blocks.at(-1) as ExpectedBlock;
  if (blocks.length === 1) return last;
  const fields: Record<string, Leaf> = {};
  const leaves = blocks.map((block) => block.fields.text);
  const texts = leaves.map(readText).filter((text) => text !== null);
  const digests = leaves.map(readDigest).filter((parts) => parts !== null);
  if (texts.length === leaves.length) {
    fields.text = { equals: texts.join("") };
    // Only if the case names them, since each field of the expectation is a check.
    if (blocks.some((block) => "citations" in block.fields)) {
      const cited = blocks.map(({ fields: { citations } }) =>
        citations && "equals" in citations ? citations.equals : [],
      );
      fields.citations = { equals: joinCitations(texts, cited as JsonObject[][]) };
    }
  } else if (digests.length === leaves.length) {
    fields.text = { digest: digests.flat() };
  }
  if (last.fields.signature) fields.signature = last.fields.signature;
  if (last.fields.phase && blocks.every(({ fields: { phase } }) => phase && isSameLeaf(phase, last.fields.phase))) {
    fields.phase = last.fields.phase;
  }
  return { type: last.type, fields };
}

/** Returns the digest that a leaf is, or the one of its literal text, or null for another matcher. */
function readDigest(leaf: Leaf | undefined): Digest | null {
  if (leaf && "digest" in leaf) return leaf.digest;
  const text = readText(leaf);
  return text === null ? null : [digestText(text)];
}

function joinReceived(blocks: readonly Block[]): Block {
  const last = blocks.at(-1) as Block;
  if (blocks.length === 1) return last;
  const texts = blocks.map((block) => block.text);
  const joined = { ...last, text: texts.join(""), echo: null };
  // Thoughts are joined only if their signatures are absent or not judged, so no signature is lost here.
  if (last.type !== "text") return { ...joined, signature: null, absent: new Set() };
  const hasOnePhase = blocks.every((block) => block.phase === last.phase);
  // A key that one part leaves out is unknown for the joined text; a phase is known only if all parts have it.
  const absent = new Set(blocks.flatMap((block) => [...block.absent]));
  if (!hasOnePhase) absent.add("phase");
  const cited = blocks.map((block) => block.citations);
  return { ...joined, phase: hasOnePhase ? last.phase : null, citations: joinCitations(texts, cited), absent };
}

/** Returns the citations of joined texts, with their positions in the joined text. */
function joinCitations(texts: readonly string[], cited: readonly JsonObject[][]): JsonObject[] {
  let length = 0;
  return texts.flatMap((text, i) => {
    const shift = length;
    length += countCharacters(text);
    return (cited[i] ?? []).map((citation) => {
      const places = ["start", "end"].filter((key) => isNumber(citation[key]));
      return { ...citation, ...Object.fromEntries(places.map((key) => [key, Number(citation[key]) + shift])) };
    });
  });
}
