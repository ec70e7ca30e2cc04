/** Tells the claims whose values were compared from those that an answer leaves out. */

import { BLOCK_MISSING, formatBlockPath, getGroup, getRequiredClaim, sumCacheUsage } from "./compare.js";
import { matchesLeaf } from "./match.js";
import type { Check, Claims, Expectation } from "./model.js";
import type { Block, Decoded } from "./outcome.js";

/** A claim of which a trial expects a value, and whether one was compared. */
export type Compared = readonly [claim: string, isCompared: boolean];

/** Returns what `checks` compared, sorted by claim. An exception (`raised`) explains a group that is left out. */
export function findCompared(
  expect: Expectation,
  outcome: Decoded,
  claims: Claims,
  checks: readonly Check[],
  raised: boolean,
): Compared[] {
  const found = [
    ...findInFields(expect, outcome, claims, checks, raised),
    ...findInBlocks(expect, outcome, claims, checks),
  ];
  const compared = new Set(found.filter(([, isCompared]) => isCompared).map(([claim]) => claim));
  const all = new Set(found.map(([claim]) => claim));
  return [...all].sort().map((claim) => [claim, compared.has(claim)]);
}

function* findInFields(
  expect: Expectation,
  outcome: Decoded,
  claims: Claims,
  checks: readonly Check[],
  raised: boolean,
): Generator<Compared> {
  const paths = new Set(checks.map((check) => check.path));
  const { status } = expect.fields;
  for (const [path, leaf] of Object.entries(sumCacheUsage(expect.fields, claims))) {
    const claim = getRequiredClaim(path);
    if (claim === undefined || !claims.has(claim) || matchesLeaf(leaf, null)) continue;
    if (outcome.omitted.has(getGroup(path))) {
      // An answer that reports an unexpected error has no reason to contain the group, and fails anyway.
      if (!raised && status && matchesLeaf(status, outcome.status)) yield [claim, false];
    } else if (paths.has(path)) yield [claim, true];
    else if (outcome.absent.has(path)) yield [claim, false];
  }
}

function* findInBlocks(
  expect: Expectation,
  outcome: Decoded,
  claims: Claims,
  checks: readonly Check[],
): Generator<Compared> {
  // The content of a broken stream is compared without its signatures.
  if (!claims.has("signatures") || expect.partial !== undefined) return;
  const signed = (expect.content ?? []).filter(
    ({ fields: { signature } }) => signature !== undefined && !matchesLeaf(signature, null),
  );
  const types = new Set<string>(signed.map((block) => block.type));
  const names = [...types].map((type) => `.${formatBlockPath(type, "signature")}`);
  const isOfThese = ({ path }: Check) => names.some((name) => path.endsWith(name));
  if (checks.some((check) => isOfThese(check) && comparesValue(check))) yield ["signatures", true];
  else if (
    outcome.content.some((block) => block.absent.has("signature") && types.has(block.type) && isJudged(block, claims))
  ) {
    yield ["signatures", false];
  }
}

/** Returns whether a check compares a value: not if the block is missing, or was rightly left out. */
function comparesValue({ verdict, expected, got, message }: Check): boolean {
  return expected !== null && message !== BLOCK_MISSING && !(verdict === "pass" && got === null);
}

function isJudged(block: Block, claims: Claims): boolean {
  if (block.type === "thinking") return claims.has("thinking");
  if (block.type !== "tool_call") return true;
  return claims.has(block.executor === "provider" ? "provider_tools" : "tool_calls");
}
