/** Judges the answer to a trial: checks, verdict and culprit. No other module decides verdicts. */

import { type Compared, findCompared } from "./claims.js";
import { compareOutcome, type Rules } from "./compare.js";
import type { Json } from "./json.js";
import { listValues } from "./match.js";
import {
  type Check,
  type Claims,
  type Culprit,
  checkRule,
  type Expectation,
  type Verdict,
  withLevel,
} from "./model.js";
import { type Decoded, decodeOutcome, MalformedError } from "./outcome.js";
import { comparePartial } from "./partial.js";
import { escapeUnprintable } from "./printable.js";
import type { Trial } from "./suite.js";

/** An exception that the library raised; each text is one line. */
export type Raised = { readonly type: string; readonly message: string };
/** What the function under test made of a stream: a JSON value, neither judged nor validated. */
export type Answer = { readonly outcome: Json; readonly raised?: Raised };
/** The verdict on one trial; `checks` are all checks, passed ones too. */
export type Judgement = {
  readonly verdict: Verdict;
  readonly culprit: Culprit | null;
  readonly checks: readonly Check[];
  readonly compared: readonly Compared[];
};

/** The paths of checks that a call is not executable. */
const UNFINISHED_CALL = /^content\.(complete_calls|\d+\.tool_call\.(complete|arguments))$/;

/** Judges an answer, given what the client claims to expose. */
export function judge(trial: Trial, answer: Answer, claims: Claims): Judgement {
  try {
    return judgeOutcome(trial, decodeOutcome(answer.outcome), answer.raised, claims);
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error;
    // Nothing else can be judged until the adapter is fixed.
    return conclude([checkRule("invariant.outcome-schema", trial.level, error.message)], "adapter", []);
  }
}

function judgeOutcome(trial: Trial, decoded: Decoded, raised: Raised | undefined, claims: Claims): Judgement {
  const { expect, level } = trial;
  const outcome = readErrorOfException(expect, decoded, raised);
  const positions = new Map(trial.mentions.map((id, position) => [id, position]));
  const findId = (id: string) => positions.get(id) ?? null;
  const rules: Rules = { claims, level, ordered: trial.ordered, findId };
  const checks = [...compareOutcome(expect, outcome, rules), ...comparePartial(expect, outcome.content, rules)];
  const compared = findCompared(expect, outcome, claims, checks, raised !== undefined);
  const isExcused = raised !== undefined && outcome.status !== "complete";
  const judged = isExcused ? checks.map(excuseCall) : checks;
  const hasCalls = claims.has("tool_calls") || claims.has("provider_tools");
  const rule = hasCalls ? [checkRule("invariant.unique-ids", level, findRepeatedId(outcome))] : [];
  return conclude([...judged, ...rule], "implementation", compared);
}

function conclude(checks: readonly Check[], culprit: Culprit, compared: readonly Compared[]): Judgement {
  const verdicts = new Set(checks.map((check) => check.verdict));
  const verdict = verdicts.has("fail") ? "fail" : verdicts.has("warn") ? "warn" : "pass";
  const hasFailed = checks.some((check) => check.verdict !== "pass");
  return { verdict, culprit: hasFailed ? culprit : null, checks, compared };
}

/** Returns the outcome with the error that an exception reports, unless the outcome has one. */
function readErrorOfException(expect: Expectation, outcome: Decoded, raised: Raised | undefined): Decoded {
  const isJudged = Object.keys(expect.fields).some((path) => path.startsWith("error."));
  if (raised === undefined || outcome.error !== null || !isJudged) return outcome;
  const texts = (listValues(expect.fields["error.message"]) ?? []).filter((value) => typeof value === "string");
  // An exception's message often has other text around the provider's message, whose line breaks are escaped.
  const text = texts.find((value) => raised.message.includes(escapeUnprintable(value)));
  return {
    ...outcome,
    error: { type: null, message: text || raised.message, status: null },
    absent: new Set([...outcome.absent, "error.type", "error.status"]),
    omitted: new Set([...outcome.omitted].filter((group) => group !== "error")),
  };
}

/** The caller gets the exception instead of the outcome, so nobody runs a call in it: it is at most a warning. */
function excuseCall(check: Check): Check {
  const isAboutCall = check.verdict === "fail" && UNFINISHED_CALL.test(check.path);
  return isAboutCall ? withLevel(check, "should") : check;
}

/** No two calls have the same id; calls without an id are not compared. */
function findRepeatedId({ content }: Decoded): string | null {
  const seen = new Set<string>();
  for (const block of content) {
    if (block.type !== "tool_call" || block.id === null) continue;
    if (seen.has(block.id)) return `two tool calls have the id \`${block.id}\``;
    seen.add(block.id);
  }
  return null;
}
