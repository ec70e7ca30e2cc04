/** What is expected: the parts of a suite file that a judge reads (suite.v1), and what a judgement contains. */

import type { Json, JsonObject } from "./json.js";

export type Level = "must" | "should" | "may";
/** From strictest to loosest. */
export const LEVELS: readonly Level[] = ["must", "should", "may"];
export type DeliverySet = "fast" | "standard" | "full";
/** From smallest to largest; each contains those before it. */
export const SETS: readonly DeliverySet[] = ["fast", "standard", "full"];
export type BlockType = "text" | "thinking" | "refusal" | "tool_call" | "other";

/** The expectation for one value. */
export type Leaf =
  | { equals: Json }
  | { matches: string; why?: string }
  | { present: boolean; why?: string }
  | { any_of: Json[]; prefer?: Json[]; why?: string }
  | { prefix_of: string; why?: string }
  | { digest: [number, string][] };
export type Leaves = { readonly [path: string]: Leaf };
/** A content block that is expected, with a leaf for each field that is judged. */
export type ExpectedBlock = { readonly type: BlockType; readonly fields: Leaves };
/** Marks the expectation for a broken stream, of whose content any beginning is correct. */
export type Partial = { readonly calls_ended: number; readonly text_arrived: number };
/** An expected outcome; `fields` are the leaves outside the content, by path. */
export type Expectation = {
  readonly fields: Leaves;
  readonly content?: readonly ExpectedBlock[];
  readonly partial?: Partial;
};

/** Every capability of streams: what is claimed without a list. */
export const OF_STREAMS = [
  "tool_calls",
  "parallel_tool_calls",
  "provider_tools",
  "thinking",
  "signatures",
  "usage",
  "cache_usage",
  "usage_details",
  "cost",
  "errors",
  "refusals",
  "stop",
  "raw_stop",
] as const;
/** What a client can claim to expose; only what is claimed is judged. `documents` must be claimed by name. */
export type Capability = (typeof OF_STREAMS)[number] | "documents";
export type Claims = ReadonlySet<string>;

export type CheckVerdict = "pass" | "fail" | "warn" | "may";
export type Verdict = "pass" | "warn" | "fail";
export type Culprit = "implementation" | "adapter";
/** One comparison; `message` describes a failure that the values alone do not explain. */
export type Check = {
  readonly path: string;
  readonly level: Level;
  readonly verdict: CheckVerdict;
  readonly expected: Json;
  readonly got: Json;
  readonly message?: string;
};
const FAILED: Readonly<Record<Level, CheckVerdict>> = { must: "fail", should: "warn", may: "may" };

export function makeCheck(
  path: string,
  level: Level,
  holds: boolean,
  expected: Json = null,
  got: Json = null,
  message?: string,
): Check {
  const check = { path, level, verdict: holds ? "pass" : FAILED[level], expected, got } as const;
  return message === undefined ? check : { ...check, message };
}

/** Returns the check for a rule, which failed if there is a message. */
export function checkRule(
  path: string,
  level: Level,
  message: string | null,
  expected: Json = null,
  got: Json = null,
): Check {
  return message === null ? makeCheck(path, level, true) : makeCheck(path, level, false, expected, got, message);
}

/** Returns a failed check at another level. */
export function withLevel(check: Check, level: Level, message = check.message): Check {
  return makeCheck(check.path, level, false, check.expected, check.got, message);
}

export function lower(one: Level, other: Level): Level {
  return LEVELS.indexOf(one) > LEVELS.indexOf(other) ? one : other;
}

/** The suite of one API, as far as it is about streams and documents. */
export type Suite = {
  readonly api: string;
  readonly streamconform: string;
  readonly ordered_content: boolean;
  readonly cases: readonly Case[];
  /** The ids of all cases in the file, whatever they are about. */
  readonly ids: readonly string[];
};
/** One expectation for the answer in `stream`. */
export type Case = {
  readonly id: string;
  readonly kind: string;
  readonly title: string;
  readonly level: Level;
  readonly capabilities: readonly Capability[];
  readonly spec: string;
  readonly line: number;
  readonly why?: string;
  readonly stream: Stream;
  readonly expect: Expectation;
  readonly mentions: readonly string[];
  readonly pricing?: JsonObject;
  readonly trials: readonly TrialEntry[];
};
export type Stream = {
  readonly request: { readonly body: JsonObject };
  readonly status: number;
  readonly headers: { readonly [name: string]: string };
  readonly body?: string;
  readonly body_base64?: string;
};
/** One delivery of a stream: the first `prefix` bytes of its body, then `append`, cut before each of `cuts`. */
export type TrialEntry = {
  readonly name: string;
  readonly level: Level;
  readonly set: DeliverySet;
  readonly inputs: readonly string[];
  readonly transport?: string;
  readonly expect?: Expectation;
  readonly mentions?: readonly string[];
  readonly prefix?: number;
  readonly append?: string;
  readonly append_base64?: string;
  readonly cuts: "every" | readonly number[];
};
