/** The outcome of a stream in the normal form (docs/outcome.md), as users write it and as the judge reads it. */

import { formatJson, isObject, type Json, type JsonObject } from "./json.js";
import type { BlockType } from "./model.js";

const STATUSES = ["complete", "incomplete", "error"] as const;
const REASONS = ["stop", "length", "tool_use", "content_filter", "refusal", "pause", "error", "other"] as const;
const EXECUTORS = ["client", "provider"] as const;
const MONEY = /^-?[0-9]{1,15}(\.[0-9]{1,30})?$/;

type OneOf<T extends readonly string[]> = T[number];
type Count = number | bigint;
type Optional<T> = { [K in keyof T]?: T[K] | null };
type Text = Optional<{ phase: string; signature: string; citations: readonly object[]; echo: object }>;
type Thinking = Optional<{ text: string; signature: string; redacted: boolean; echo: object }>;
type Call = Optional<{ id: string; arguments_text: string; complete: boolean; executor: OneOf<typeof EXECUTORS> }>;

/** A content block as a user returns it. A key that is left out is a value that the library does not expose. */
export type ContentBlock =
  | ({ type: "text"; text: string } & Text)
  | ({ type: "thinking" } & Thinking)
  | { type: "refusal"; text: string }
  | ({
      type: "tool_call";
      name: string | null;
      arguments: unknown;
      signature?: string | null;
      echo?: object | null;
    } & Call)
  | { type: "other"; kind?: string | null; data?: unknown };

/** What a user returns for a stream. */
export type Outcome = { status: OneOf<typeof STATUSES>; content: readonly ContentBlock[] } & Optional<{
  stop: Optional<{ reason: OneOf<typeof REASONS>; raw: string; sequence: string; details: unknown }>;
  usage: Optional<Record<keyof typeof GROUPS.usage, Count>>;
  cost: Optional<Record<keyof typeof GROUPS.cost, string>>;
  error: Optional<{ type: string; message: string; status: number }>;
  model: string;
  response_id: string;
  continuation: string;
  echo: object;
}>;

/** A content block as it is judged: a value that was left out, or that its type does not have, is null or empty. */
export type Block = {
  readonly type: BlockType;
  readonly text: string;
  readonly phase: string | null;
  readonly signature: string | null;
  readonly citations: JsonObject[];
  readonly redacted: boolean;
  readonly id: string | null;
  readonly name: string | null;
  readonly arguments: Json;
  readonly arguments_text: string | null;
  readonly complete: boolean | null;
  readonly executor: string;
  readonly kind: string | null;
  readonly data: Json;
  readonly echo: Json;
  /** The optional keys that were left out. */
  readonly absent: ReadonlySet<string>;
};

/** An outcome as it is judged. */
export type Decoded = {
  readonly status: string;
  readonly content: readonly Block[];
  readonly stop: JsonObject;
  readonly usage: JsonObject;
  readonly cost: JsonObject | null;
  readonly error: JsonObject | null;
  /** The paths that were left out, such as `usage.reasoning`. */
  readonly absent: ReadonlySet<string>;
  /** The groups without any known key; if claimed, they count as null. */
  readonly omitted: ReadonlySet<string>;
} & { readonly [name in (typeof TEXTS)[number] | "echo"]: Json };

/** The value is not in the normal form; the message says where. */
export class MalformedError extends Error {}

/** Returns what is read at a path, or throws a `MalformedError`. An absent value is null. */
type Read = (path: string, value: Json) => Json;

const readAny: Read = (_, value) => value;
const readString: Read = (path, value) => check(path, value, typeof value === "string", "a string");
const readFlag: Read = (path, value) => check(path, value, typeof value === "boolean", "a boolean");
const readObject: Read = (path, value) => check(path, value, isObject(value), "an object");
const readCount: Read = (path, value) => {
  const isInteger = typeof value === "bigint" || Number.isInteger(value);
  return check(path, value, isInteger && (value as Count) >= 0, "a count");
};
const readMoney: Read = (path, value) => {
  const isMoney = typeof value === "string" && MONEY.test(value);
  return check(path, value, isMoney, 'decimal text, such as "0.002871",');
};
const readOneOf =
  (names: readonly string[]): Read =>
  (path, value) =>
    check(path, value, names.includes(value as string), `one of ${names.join(", ")}`);
const readCitations: Read = (path, value) => {
  for (const [i, citation] of ((check(path, value, Array.isArray(value), "a list") ?? []) as Json[]).entries()) {
    if (!isObject(citation)) return fail(`${path}.${i}`, citation, "an object");
    readKeys(`${path}.${i}`, citation, CITATION);
  }
  return value;
};

const CITATION = { source: readString, title: readString, quote: readString, start: readCount, end: readCount };
const TEXTS = ["model", "response_id", "continuation"] as const;
const GROUPS = {
  usage: {
    input: readCount,
    cache_read: readCount,
    cache_write: readCount,
    cache_write_1h: readCount,
    output: readCount,
    reasoning: readCount,
    web_searches: readCount,
  },
  cost: {
    currency: readOneOf(["USD"]),
    input: readMoney,
    cache_read: readMoney,
    cache_write: readMoney,
    output: readMoney,
    other: readMoney,
    total: readMoney,
  },
  error: { type: readString, message: readString, status: readCount },
};
const STOP = { reason: readOneOf(REASONS), raw: readString, sequence: readString, details: readAny };
const BLOCKS: Readonly<Record<string, Readonly<Record<string, Read>>>> = {
  text: { text: readString, phase: readString, signature: readString, citations: readCitations, echo: readObject },
  refusal: { text: readString },
  thinking: { text: readString, signature: readString, redacted: readFlag, echo: readObject },
  tool_call: {
    id: readString,
    name: readString,
    arguments: readAny,
    arguments_text: readString,
    complete: readFlag,
    executor: readOneOf(EXECUTORS),
    signature: readString,
    echo: readObject,
  },
  other: { kind: readString, data: readAny },
};
/** The keys whose absence says nothing: the value is always judged, or has a default. */
const ALWAYS_JUDGED = ["currency", "message", "reason", "text", "name", "arguments", "executor", "kind", "data"];
const NO_BLOCK: Omit<Block, "type"> = {
  text: "",
  phase: null,
  signature: null,
  citations: [],
  redacted: false,
  id: null,
  name: null,
  arguments: null,
  arguments_text: null,
  complete: null,
  executor: "client",
  kind: null,
  data: null,
  echo: null,
  absent: new Set(),
};

export function isExecutable(call: Block): boolean {
  return call.complete !== false && call.arguments !== null;
}

/** Returns the outcome in a JSON value, or throws a `MalformedError`. */
export function decodeOutcome(value: Json): Decoded {
  if (!isObject(value)) return fail("the outcome", value, "an object");
  const { status = null, content = null } = value;
  if (!STATUSES.some((name) => name === status)) fail("status", status, `one of ${STATUSES.join(", ")}`);
  if (!Array.isArray(content)) return fail("content", content, "a list");
  const names = Object.keys(GROUPS) as (keyof typeof GROUPS)[];
  const groups = names.map((name) => [name, decodeGroup(value, name)]);
  const texts = TEXTS.map((name) => [name, readString(name, value[name] ?? null)]);
  const decoded = {
    status,
    content: content.map((block, i) => decodeBlock(`content.${i}`, block)),
    stop: readKeys("stop", (readObject("stop", value.stop ?? null) ?? {}) as JsonObject, STOP),
    echo: readObject("echo", value.echo ?? null),
    absent: new Set(listAbsentPaths(value)),
    omitted: new Set(names.filter((name) => isOmitted(value, name))),
    ...Object.fromEntries([...texts, ...groups]),
  };
  return { ...decoded, usage: decoded.usage ?? readKeys("usage", {}, GROUPS.usage) };
}

/** Returns whether a group is left out, or has none of its known keys. Null says that there is no value. */
function isOmitted(outcome: JsonObject, name: keyof typeof GROUPS): boolean {
  const { [name]: group = {} } = outcome;
  return isObject(group) && !Object.keys(GROUPS[name]).some((key) => Object.hasOwn(group, key));
}

function decodeGroup(outcome: JsonObject, name: keyof typeof GROUPS): JsonObject | null {
  const group = readObject(name, outcome[name] ?? null) as JsonObject | null;
  if (group === null) return null;
  const decoded = readKeys(name, group, GROUPS[name]);
  if (isOmitted(outcome, name)) return null;
  return name === "cost" ? { ...decoded, currency: "USD" } : decoded;
}

function* listAbsentPaths(outcome: JsonObject): Generator<string> {
  yield* listAbsent(outcome, [...TEXTS, "echo"]);
  if (!Object.hasOwn(outcome, "stop")) yield "stop.reason";
  const stop = isObject(outcome.stop) ? outcome.stop : {};
  yield* listAbsent(stop, Object.keys(STOP), "stop.");
  for (const [name, keys] of Object.entries(GROUPS)) {
    const group = outcome[name];
    // A group with nothing but nulls counts as null.
    if (!isObject(group) || Object.keys(keys).every((key) => (group[key] ?? null) === null)) continue;
    yield* listAbsent(group, Object.keys(keys), `${name}.`);
  }
}

function listAbsent(entry: JsonObject, keys: readonly string[], prefix = ""): string[] {
  const absent = keys.filter((key) => !Object.hasOwn(entry, key) && !ALWAYS_JUDGED.includes(key));
  return absent.map((key) => prefix + key);
}

function decodeBlock(path: string, value: Json): Block {
  if (!isObject(value)) return fail(path, value, "an object");
  const { type = null } = value;
  const keys = typeof type === "string" && Object.hasOwn(BLOCKS, type) ? BLOCKS[type] : undefined;
  if (keys === undefined) return fail(`${path}.type`, type, `one of ${Object.keys(BLOCKS).join(", ")}`);
  const read = Object.entries(readKeys(path, value, keys)).filter(([, item]) => item !== null);
  const block: Block = {
    ...NO_BLOCK,
    ...Object.fromEntries(read),
    type: type as BlockType,
    absent: new Set(listAbsent(value, Object.keys(keys))),
  };
  const needsText = type === "text" || type === "refusal";
  return needsText && (value.text ?? null) === null ? fail(`${path}.text`, null, "a string") : block;
}

function readKeys(path: string, entry: JsonObject, keys: Readonly<Record<string, Read>>): JsonObject {
  const read = Object.entries(keys).map(([key, read]) => [key, read(`${path}.${key}`, entry[key] ?? null)]);
  return Object.fromEntries(read);
}

function check(path: string, value: Json, holds: boolean, expected: string): Json {
  return value === null || holds ? value : fail(path, value, `${expected} or null`);
}

function fail(path: string, value: Json, expected: string): never {
  throw new MalformedError(`${path} is ${isObject(value) ? "an object" : formatJson(value)}; expected ${expected}`);
}
