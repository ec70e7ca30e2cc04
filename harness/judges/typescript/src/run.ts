/** Runs the trials of suites as tests of any runner that has a function `test(name, body)`. */

import type { Compared } from "./claims.js";
import { formatJson, type Json, type JsonObject } from "./json.js";
import { type Answer, type Judgement, judge, type Raised } from "./judge.js";
import { KnownFailuresMatcher, readKnownFailures } from "./known.js";
import { type Capability, type Claims, OF_STREAMS, type Suite } from "./model.js";
import type { Outcome } from "./outcome.js";
import { escapeLine } from "./printable.js";
import { isSelected, listTrials, loadSuite, type Selection, type Trial } from "./suite.js";

/** What a function under test gets. It never sees the expectation, or the names of the case and the delivery. */
export type Run = {
  readonly api: string;
  /** The body of the HTTP response, one chunk per network read. */
  readonly chunks: readonly Uint8Array[];
  /** False for a non-streaming answer; the chunks are then one JSON document. */
  readonly stream: boolean;
  readonly status: number;
  readonly headers: { readonly [name: string]: string };
  /** The body of the request that the bytes answer. */
  readonly request: JsonObject;
  /** Prices for `cost`; null without prices. */
  readonly pricing: JsonObject | null;
};
/**
 * Reads a stream with the library under test, and returns the outcome. An exception is the library's; to keep the
 * content that it had read, return both.
 */
export type Adapter = (run: Run) => Result | Promise<Result>;
type Result = Outcome | { readonly outcome?: Outcome; readonly raised: unknown };

export type TestFunction = (name: string, body: () => Promise<void>) => unknown;
export type Options = Selection & {
  /** The suites, or the paths of their files. */
  readonly suites: readonly (Suite | string)[];
  /** What the library exposes; without a list, every capability of streams. */
  readonly capabilities?: readonly Capability[];
  /** Whether warnings fail. */
  readonly strict?: boolean;
  /** The paths of known-failures files. */
  readonly knownFailures?: readonly string[];
  /** The name under which a known-failures file may list the library. */
  readonly implementation?: string;
};

/** The outcome of a run in which the library raised. */
const RAISED: Json = { status: "error", content: [], stop: { reason: "error" } };
const MAX_VALUE = 300;
const MAX_TYPE = 200;
const MAX_MESSAGE = 500;

/** A trial did not pass. The stack would show this file instead of the library, so there is none. */
export class ConformanceError extends Error {
  override readonly name = "ConformanceError";

  constructor(message: string) {
    super(message);
    this.stack = `${this.name}: ${message}`;
  }
}

/** Makes a test per trial, and one for the claims and known failures, which are known only at the end. */
export function testConformance(test: TestFunction, adapter: Adapter, options: Options): void {
  const { capabilities = OF_STREAMS, strict = false, knownFailures = [], implementation } = options;
  const suites = options.suites.map((suite) => (typeof suite === "string" ? loadSuite(suite) : suite));
  const claims: Claims = new Set(capabilities);
  const files = knownFailures.map((path) => readKnownFailures(path, implementation));
  const known = new KnownFailuresMatcher(files, claims, strict);
  const selected = suites.flatMap((suite) => listTrials(suite).filter((trial) => isSelected(trial, options)));
  const trials = selected.filter((trial) => trial.case.capabilities.every((name) => claims.has(name)));
  if (trials.length === 0) throw new Error("the selection has no trials");
  const counts = { pass: 0, warn: 0, known: 0, fail: 0, stale: 0 };
  const compared: Compared[] = [];
  for (const trial of trials) {
    test(trial.id, async () => {
      const answer = await runTrial(trial, adapter);
      const judgement = judge(trial, answer, claims);
      const { verdict, stale } = known.settle(trial, judgement);
      counts[verdict] += 1;
      compared.push(...judgement.compared.filter(([, isCompared]) => isCompared || verdict !== "known"));
      if (verdict === "stale") throw new ConformanceError(`${trial.id} ${stale}`);
      if (verdict === "fail") throw new ConformanceError(describeFailure(trial, judgement, strict, answer.raised));
    });
  }
  test("streamconform: claims and known failures", async () => {
    const numbers = Object.entries(counts).map(([verdict, count]) => `${count} ${verdict}`);
    const causes = files.reduce((sum, file) => sum + file.causes, 0);
    const notes = [
      `${selected.length - trials.length} need what is not claimed, and did not run`,
      ...(causes > 0 ? [`${causes} known failures are listed by cause, which only \`conform run\` knows`] : []),
    ];
    console.log(`streamconform: ${numbers.join(", ")}; ${notes.join("; ")}`);
    const ids = suites.flatMap((suite) => suite.ids);
    const problems = [...listUncompared(compared), ...known.listOutdated(ids, formatToday())];
    if (problems.length > 0) throw new ConformanceError(problems.join("\n"));
  });
}

/** Returns what an adapter makes of a trial; an exception is part of the answer. */
export async function runTrial(trial: Trial, adapter: Adapter): Promise<Answer> {
  const { stream, id, kind, pricing = null } = trial.case;
  const run: Run = {
    api: id.split("/", 1)[0] as string,
    chunks: trial.makeChunks(),
    stream: kind === "stream",
    status: stream.status,
    headers: stream.headers,
    request: stream.request.body,
    pricing,
  };
  let result: Result;
  try {
    result = await adapter(run);
  } catch (error) {
    return { outcome: RAISED, raised: describeError(error) };
  }
  if (typeof result !== "object" || result === null || !("raised" in result)) return { outcome: toJson(result) };
  const outcome = result.outcome === undefined ? RAISED : toJson(result.outcome);
  const hasRaised = result.raised !== undefined && result.raised !== null;
  return hasRaised ? { outcome, raised: describeError(result.raised) } : { outcome };
}

function describeError(error: unknown): Raised {
  const [type, message] = error instanceof Error ? [error.name, error.message] : [typeof error, String(error)];
  return { type: escapeLine(type, MAX_TYPE), message: escapeLine(message, MAX_MESSAGE) };
}

/** Returns a value as JSON: without keys that are undefined. Throws for a value that JSON does not have. */
function toJson(value: unknown, path = "outcome"): Json {
  const isPlain = ["string", "boolean", "bigint"].includes(typeof value) || Number.isFinite(value);
  if (value === null || isPlain) return value as Json;
  if (Array.isArray(value)) return value.map((item, i) => toJson(item, `${path}.${i}`));
  if (typeof value !== "object") throw new ConformanceError(`${path} is ${String(value)}, which JSON cannot represent`);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.map(([name, member]) => [name, toJson(member, `${path}.${name}`)]));
}

/** Returns what differs, in which case, and where its page is. */
export function describeFailure(trial: Trial, judgement: Judgement, strict: boolean, raised?: Raised): string {
  const { title, why, spec, line } = trial.case;
  const failed = judgement.checks.filter(({ verdict }) => verdict === "fail" || (strict && verdict === "warn"));
  return [
    trial.id,
    `  ${title}`,
    `  level: ${trial.level}; spec: specs/${spec}:${line}`,
    ...(why ? [`  why: ${why}`] : []),
    ...(raised ? [`  the library raised ${raised.type}: ${raised.message}`] : []),
    ...(judgement.culprit === "adapter" ? ["  the adapter is at fault: its outcome is not in the normal form"] : []),
    ...failed.flatMap(({ path, message, expected, got }) =>
      message === undefined
        ? [`  ${path}`, `    expected: ${show(expected)}`, `    got:      ${show(got)}`]
        : [`  ${path}: ${escapeLine(message, MAX_VALUE)}`],
    ),
  ].join("\n");
}

function show(value: Json): string {
  return escapeLine(formatJson(value), MAX_VALUE);
}

/** Returns a message for each claim of which some trial expected a value, but none compared one. */
function listUncompared(compared: readonly Compared[]): string[] {
  const done = new Set(compared.filter(([, isCompared]) => isCompared).map(([claim]) => claim));
  const others = compared.map(([claim]) => claim).filter((claim) => !done.has(claim));
  return [...new Set(others)].sort().map((claim) => {
    const count = others.filter((other) => other === claim).length;
    const problem = `none of the ${count} trials that expect one compared a value`;
    return `\`${claim}\` is claimed, but ${problem}; report it, or leave it out of \`capabilities\``;
  });
}

/** Returns today's date in the user's time zone. */
function formatToday(): string {
  const now = new Date();
  return new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
}
