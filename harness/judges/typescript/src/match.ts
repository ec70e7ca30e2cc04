/** Compares one value with one leaf of an expectation. */

import { createHash } from "node:crypto";
import { countCharacters, formatCanonically, isEqual, type Json } from "./json.js";
import type { Leaf } from "./model.js";

/** The largest difference between equal costs, in units of 10^-30 USD. */
const COST_TOLERANCE = 10n ** 21n;
const DECIMALS = 30;

export function matchesLeaf(leaf: Leaf, got: Json, money = false): boolean {
  const equal = money ? isEqualAmount : isEqual;
  if ("equals" in leaf) return equal(leaf.equals, got);
  if ("any_of" in leaf) return leaf.any_of.some((value) => equal(value, got));
  if ("matches" in leaf) return typeof got === "string" && new RegExp(leaf.matches).test(got);
  if ("present" in leaf) return (got !== null) === leaf.present;
  if ("prefix_of" in leaf) return typeof got === "string" && leaf.prefix_of.startsWith(got);
  return got !== null && hasDigest(leaf.digest, got);
}

/** Returns whether a leaf is this literal value. */
export function isLiterally(leaf: Leaf | undefined, value: null | boolean | string): boolean {
  return leaf !== undefined && "equals" in leaf && leaf.equals === value;
}

/** Returns the text that a leaf stands for, or null if it is no literal text. */
export function readText(leaf: Leaf | undefined): string | null {
  return leaf !== undefined && "equals" in leaf && typeof leaf.equals === "string" ? leaf.equals : null;
}

/** Returns the values that match a leaf, or null if it does not list them. */
export function listValues(leaf: Leaf | undefined): readonly Json[] | null {
  if (leaf === undefined) return null;
  return "equals" in leaf ? [leaf.equals] : "any_of" in leaf ? leaf.any_of : null;
}

/** Returns the values that match a leaf without a warning, or null if it does not list its values. */
export function listPreferred(leaf: Leaf | undefined): readonly Json[] | null {
  return (leaf !== undefined && "any_of" in leaf && leaf.prefer) || listValues(leaf);
}

/** Returns an expected value as messages show it. */
export function serializeLeaf(leaf: Leaf): Json {
  if ("equals" in leaf) return leaf.equals;
  if ("matches" in leaf) return { matches: leaf.matches };
  if ("present" in leaf) return { present: leaf.present };
  if ("any_of" in leaf) return { any_of: leaf.any_of, ...(leaf.prefer && { prefer: leaf.prefer }) };
  if ("prefix_of" in leaf) return { prefix_of: leaf.prefix_of };
  const [[length, sha256] = [0, ""], ...others] = leaf.digest;
  return others.length === 0 ? { length, sha256 } : { length: measureDigest(leaf.digest) };
}

export function measureDigest(parts: readonly [number, string][]): number {
  return parts.reduce((sum, [length]) => sum + length, 0);
}

/** Returns the digest of a text, as its only part. */
export function digestText(text: string): [number, string] {
  return [countCharacters(text), createHash("sha256").update(text, "utf8").digest("hex")];
}

function hasDigest(parts: readonly [number, string][], got: Json): boolean {
  const characters = Array.from(typeof got === "string" ? got : formatCanonically(got));
  if (characters.length !== measureDigest(parts)) return false;
  let start = 0;
  return parts.every(([length, digest]) => {
    const part = characters.slice(start, start + length).join("");
    start += length;
    return digestText(part)[1] === digest;
  });
}

/** Returns whether two decimal texts are the same amount. */
function isEqualAmount(one: Json, other: Json): boolean {
  if (one === null || other === null) return one === other;
  const [first, second] = [parseAmount(one), parseAmount(other)];
  if (first === null || second === null) return false;
  const difference = first - second;
  return difference <= COST_TOLERANCE && difference >= -COST_TOLERANCE;
}

function parseAmount(value: Json): bigint | null {
  const match = typeof value === "string" ? /^(-?)(\d+)(?:\.(\d{1,30}))?$/.exec(value) : null;
  if (match === null) return null;
  const [, sign, whole, decimals = ""] = match;
  return BigInt(`${sign}${whole}${decimals.padEnd(DECIMALS, "0")}`);
}
