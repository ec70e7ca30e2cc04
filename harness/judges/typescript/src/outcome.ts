/** The outcome of a stream in the normal form (docs/outcome.md), as users write it and as the judge reads it. */

import { formatJson, isNumber, isObject, type Json, type JsonObject } from "./json.js";
import type { BlockType, Status } from "./model.js";

type Reason = "stop" | "length" | "tool_use" | "content_filter" | "refusal" | "pause" | "error" | "other";
type Count = number | bigint | null;
type Nullable<T> = { [K in keyof T]?: T[K] | null };

/** A content block as a user returns it. A key that is left out is a value that the library does not expose. */
export type ContentBlock =
  | ({ type: "text"; text: string } & Nullable<{
      phase: string;
      signature: string;
      citations: readonly object[];
      echo: object;
    }>)
  | ({ type: "thinking" } & Nullable<{ text: string; signature: string; redacted: boolean; echo: object }>)
  | { type: "refusal"; text: string }
  | ({ type: "tool_call"; name: string | null; arguments: unknown } & Nullable<{
      id: string;
      arguments_text: string;
      complete: boolean;
      executor: "client" | "provider";
      signature: string;
      echo: object;
    }>)
  | ({ type: "other" } & Nullable<{ kind: string; data: unknown }>);

/** What a user returns for a stream. */
export type Outcome = {
  status: Status;
  content: readonly ContentBlock[];
  stop?: Nullable<{ reason: Reason; raw: string; sequence: string; details: unknown }> | null;
  usage?: { [K in (typeof BUCKETS)[number]]?: Count } | null;
  cost?: Nullable<{ currency: "USD" } & Record<(typeof AMOUNTS)[number], string>> | null;
  error?: Nullable<{ type: string; message: string; status: number }> | null;
} & Nullable<{ model: string; response_id: string; continuation: string; echo: object }>;

type Absent = { readonly absent: ReadonlySet<string> };
type Text = Absent & {
  readonly type: "text";
  readonly text: string;
  readonly phase: Json;
  readonly signature: string | null;
  readonly citations: JsonObject[];
  readonly echo: Json;
};
type Refusal = Absent & { readonly type: "refusal"; readonly text: string };
type Thinking = Absent & {
  readonly type: "thinking";
  readonly text: string;
  readonly signature: string | null;
  readonly redacted: boolean;
  readonly echo: Json;
};
export type ToolCall = Absent & {
  readonly type: "tool_call";
  readonly id: string | null;
  readonly name: string | null;
  readonly arguments: Json;
  readonly arguments_text: string | null;
  readonly complete: boolean | null;
  readonly executor: string;
  readonly signature: string | null;
  readonly echo: Json;
};
type Other = Absent & { readonly type: "other"; readonly kind: string | null; readonly data: Json };
/** A content block as it is judged: a value that was left out is null, and its key is in `absent`. */
export type Block = Text | Refusal | Thinking | ToolCall | Other;

/** An outcome as it is judged. */
export type Decoded = {
  readonly status: string;
  readonly content: readonly Block[];
  readonly stop: JsonObject;
  readonly usage: JsonObject;
  readonly cost: JsonObject | null;
  readonly error: JsonObject | null;
  readonly model: Json;
  readonly response_id: Json;
  readonly continuation: Json;
  readonly echo: Json;
  /** The paths that were left out, such as `usage.reasoning`. */
  readonly absent: ReadonlySet<string>;
  /** The groups without any known key; if claimed, they count as null. */
  readonly omitted: ReadonlySet<string>;
};

/** The value is not in the normal form; the message says where. */
export class MalformedError extends Error {}

const STATUSES = ["complete", "incomplete", "error"];
const REASONS = ["stop", "length", "tool_use", "content_filter", "refusal", "pause", "error", "other"];
const BUCKETS = [
  "input",
  "cache_read",
  "cache_write",
  "cache_write_1h",
  "output",
  "reasoning",
  "web_searches",
] as const;
const AMOUNTS = ["input", "cache_read", "cache_write", "output", "other", "total"] as const;
/** The known keys of each claimed group, without those whose absence says nothing. */
const OPTIONAL_KEYS: Readonly<Record<Group, readonly string[]>> = {
  usage: BUCKETS,
  cost: AMOUNTS,
  error: ["type", "status"],
};
const GROUP_KEYS: Readonly<Record<Group, readonly string[]>> = {
  usage: BUCKETS,
  cost: ["currency", ...AMOUNTS],
  error: ["type", "message", "status"],
};
type Group = "usage" | "cost" | "error";
const GROUPS: readonly Group[] = ["usage", "cost", "error"];
const STOP_KEYS = ["raw", "sequence", "details"];
const MONEY = /^-?[0-9]{1,15}(\.[0-9]{1,30})?$/;

export function isExecutable(call: ToolCall): boolean {
  return call.complete !== false && call.arguments !== null;
}

/** Returns the outcome in a JSON value, or throws a `MalformedError`. */
export function decodeOutcome(value: Json): Decoded {
  const entry = requireObject("outcome", value);
  const { status, content } = entry;
  if (!isOneOf(STATUSES, status)) fail("status", status, `one of ${STATUSES.join(", ")}`);
  if (!Array.isArray(content)) fail("content", content, "a list");
  return {
    status: status as string,
    content: (content as Json[]).map((block, i) => decodeBlock(`content.${i}`, block)),
    stop: decodeStop(entry.stop),
    usage: decodeGroup(entry, "usage", decodeCounts) ?? decodeCounts({}),
    cost: decodeGroup(entry, "cost", decodeCost),
    error: decodeGroup(entry, "error", decodeError),
    model: readString("model", entry.model),
    response_id: readString("response_id", entry.response_id),
    continuation: readString("continuation", entry.continuation),
    echo: readObject("echo", entry.echo),
    absent: new Set(listAbsentPaths(entry)),
    omitted: new Set(GROUPS.filter((name) => isOmitted(entry, name))),
  };
}

/** Returns whether a group is left out, or has none of its known keys. Null says that there is no value. */
function isOmitted(entry: JsonObject, name: Group): boolean {
  const group = entry[name] === undefined ? {} : entry[name];
  return isObject(group) && !GROUP_KEYS[name].some((key) => Object.hasOwn(group, key));
}

function decodeGroup(entry: JsonObject, name: Group, decode: (group: JsonObject) => JsonObject): JsonObject | null {
  const group = readObject(name, entry[name]);
  const decoded = group === null ? null : decode(group);
  return isOmitted(entry, name) ? null : decoded;
}

function* listAbsentPaths(entry: JsonObject): Generator<string> {
  yield* listAbsent(entry, ["model", "response_id", "continuation", "echo"]);
  if (!Object.hasOwn(entry, "stop")) yield "stop.reason";
  const stop = isObject(entry.stop) ? entry.stop : {};
  yield* listAbsent(stop, STOP_KEYS).map((key) => `stop.${key}`);
  for (const name of GROUPS) {
    const group = entry[name];
    // A group with nothing but nulls counts as null.
    if (isObject(group) && GROUP_KEYS[name].some((key) => (group[key] ?? null) !== null)) {
      yield* listAbsent(group, OPTIONAL_KEYS[name]).map((key) => `${name}.${key}`);
    }
  }
}

function listAbsent(entry: JsonObject, keys: readonly string[]): string[] {
  return keys.filter((key) => !Object.hasOwn(entry, key));
}

function decodeStop(value: Json | undefined): JsonObject {
  const entry = readObject("stop", value) ?? {};
  const reason = entry.reason ?? null;
  if (reason !== null && !isOneOf(REASONS, reason)) fail("stop.reason", reason, `one of ${REASONS.join(", ")}`);
  const [raw, sequence] = [readString("stop.raw", entry.raw), readString("stop.sequence", entry.sequence)];
  return { reason, raw, sequence, details: entry.details ?? null };
}

function decodeCounts(entry: JsonObject): JsonObject {
  return Object.fromEntries(BUCKETS.map((bucket) => [bucket, readCount(`usage.${bucket}`, entry[bucket])]));
}

function decodeCost(entry: JsonObject): JsonObject {
  if ((entry.currency ?? "USD") !== "USD") fail("cost.currency", entry.currency, "USD");
  const amounts = AMOUNTS.map((name) => [name, readMoney(`cost.${name}`, entry[name])]);
  return { currency: "USD", ...Object.fromEntries(amounts) };
}

function decodeError(entry: JsonObject): JsonObject {
  return {
    type: readString("error.type", entry.type),
    message: readString("error.message", entry.message),
    status: readCount("error.status", entry.status),
  };
}

function decodeBlock(path: string, value: Json): Block {
  const entry = requireObject(path, value);
  const type = entry.type as BlockType;
  const string = (key: string) => readString(`${path}.${key}`, entry[key]);
  const flag = (key: string) => readFlag(`${path}.${key}`, entry[key]);
  const common = (...optional: string[]) => ({
    signature: string("signature"),
    echo: readObject(`${path}.echo`, entry.echo),
    absent: new Set(listAbsent(entry, [...optional, "signature", "echo"])),
  });
  switch (type) {
    case "text":
      return {
        type,
        text: requireString(`${path}.text`, entry.text),
        phase: string("phase"),
        citations: decodeCitations(`${path}.citations`, entry.citations),
        ...common("phase", "citations"),
      };
    case "refusal":
      return { type, text: requireString(`${path}.text`, entry.text), absent: new Set() };
    case "thinking":
      return { type, text: string("text") ?? "", redacted: flag("redacted") ?? false, ...common("redacted") };
    case "tool_call": {
      const executor = entry.executor ?? "client";
      if (!isOneOf(["client", "provider"], executor)) fail(`${path}.executor`, executor, "client or provider");
      return {
        type,
        id: string("id"),
        name: string("name"),
        arguments: entry.arguments ?? null,
        arguments_text: string("arguments_text"),
        complete: flag("complete"),
        executor: executor as string,
        ...common("id", "arguments_text", "complete"),
      };
    }
    case "other":
      return { type, kind: string("kind"), data: entry.data ?? null, absent: new Set() };
    default:
      return fail(`${path}.type`, type, "text, thinking, refusal, tool_call or other");
  }
}

function decodeCitations(path: string, value: Json | undefined): JsonObject[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) return fail(path, value, "a list or null");
  return value.map((item, i) => {
    const citation = requireObject(`${path}.${i}`, item);
    for (const key of ["source", "title", "quote"]) readString(`${path}.${i}.${key}`, citation[key]);
    for (const key of ["start", "end"]) readCount(`${path}.${i}.${key}`, citation[key]);
    return citation;
  });
}

function isOneOf(names: readonly string[], value: Json | undefined): boolean {
  return typeof value === "string" && names.includes(value);
}

function fail(path: string, value: Json | undefined, expected: string): never {
  const shown = value === undefined ? "missing" : isObject(value) ? "an object" : formatJson(value);
  throw new MalformedError(`${path} is ${shown}; expected ${expected}`);
}

function requireObject(path: string, value: Json): JsonObject {
  return isObject(value) ? value : fail(path, value, "an object");
}

function requireString(path: string, value: Json | undefined): string {
  return typeof value === "string" ? value : fail(path, value, "a string");
}

function readObject(path: string, value: Json | undefined): JsonObject | null {
  return value === undefined || value === null ? null : requireObject(path, value);
}

function readString(path: string, value: Json | undefined): string | null {
  return value === undefined || value === null ? null : requireString(path, value);
}

function readFlag(path: string, value: Json | undefined): boolean | null {
  const flag = value ?? null;
  return flag === null || typeof flag === "boolean" ? flag : fail(path, value, "a boolean or null");
}

function readCount(path: string, value: Json | undefined): Count {
  const count = value ?? null;
  const isCount = typeof count === "bigint" || Number.isInteger(count);
  if (count === null || (isNumber(count) && isCount && count >= 0)) return count;
  return fail(path, value, "a count or null");
}

function readMoney(path: string, value: Json | undefined): string | null {
  const amount = readString(path, value);
  return amount === null || MONEY.test(amount) ? amount : fail(path, value, 'decimal text, such as "0.002871"');
}
