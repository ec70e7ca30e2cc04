/** Reads known failures (docs/known-failures.md), and finds entries that are out of date. */

import { readFileSync } from "node:fs";
import { isMap, isSeq, LineCounter, parseDocument } from "yaml";
import { formatJson } from "./json.js";
import { type Answer, type Judgement, judge } from "./judge.js";
import type { Check, Claims, Verdict } from "./model.js";
import { type Pattern, splitPattern } from "./select.js";
import type { Trial } from "./suite.js";

/** A known failure of the trials or checks that match a pattern. */
export type KnownFailure = {
  readonly match: string;
  readonly verdict: "fail" | "hang" | "faulted";
  readonly message?: string;
  readonly reason: string;
  readonly issue: string;
  /** The last day on which the entry is valid, such as `2026-12-31`. */
  readonly expires?: string;
  readonly line: number;
};
/** A known-failures file; `causes` is the number of entries by cause, which only `conform run` can match. */
export type KnownFailures = {
  readonly path: string;
  readonly entries: readonly KnownFailure[];
  readonly causes: number;
};

/** How a trial relates to an entry that names it. */
type Status = "matched" | "passing" | "mismatched" | "inconclusive";

const REQUIRED = ["match", "verdict", "reason", "issue"];
const OPTIONAL = ["message", "expires"];
/** An answer without content, for which only the checks common to all answers are made. */
const EMPTY: Answer = {
  outcome: { status: "error", content: [], stop: { reason: null, raw: null }, model: null, response_id: null },
};

/** Returns the entries of a file that apply to an implementation, or throws an error that says what is wrong. */
export function readKnownFailures(path: string, implementation?: string): KnownFailures {
  const lines = new LineCounter();
  const document = parseDocument(readFileSync(path, "utf8"), { lineCounter: lines });
  const [problem] = document.errors;
  if (problem) throw new Error(`${path}: ${problem.message}`);
  const file = document.toJS();
  const list = document.get("entries");
  if (file?.["known-failures"] !== 1 || !isSeq(list)) throw new Error(`${path}: not a known-failures file, version 1`);
  const items = list.items.filter(isMap);
  const patterns = items.filter((item) => !item.has("cause"));
  const entries = patterns.map((item): KnownFailure => {
    const line = item.range ? lines.linePos(item.range[0]).line : 0;
    const entry = item.toJS(document);
    const wrong = [
      ...REQUIRED.filter((key) => typeof entry[key] !== "string").map((key) => `no text \`${key}\``),
      ...Object.keys(entry)
        .filter((key) => ![...REQUIRED, ...OPTIONAL].includes(key))
        .map((key) => `unknown key \`${key}\``),
    ];
    if (wrong.length > 0) throw new Error(`${path}:${line}: ${wrong.join(", ")}`);
    return { ...entry, line };
  });
  const applies = file.implementation === undefined || file.implementation === implementation;
  return applies ? { path, entries, causes: items.length - patterns.length } : { path, entries: [], causes: 0 };
}

/** Matches the trials of a run with known failures, one at a time. */
export class KnownFailuresMatcher {
  readonly #entries: { entry: KnownFailure; path: string; pattern: Pattern; statuses: Status[] }[];
  readonly #claims: Claims;
  readonly #strict: boolean;

  constructor(files: readonly KnownFailures[], claims: Claims, strict: boolean) {
    this.#entries = files.flatMap(({ path, entries }) =>
      entries.map((entry) => ({ entry, path, pattern: splitPattern(entry.match), statuses: [] })),
    );
    this.#claims = claims;
    this.#strict = strict;
  }

  /** Returns the verdict: `known` if entries cover all failures, `stale` with a message if a listed trial passes. */
  settle(trial: Trial, judgement: Judgement): { verdict: Verdict | "known" | "stale"; stale?: string } {
    const matched: Pattern[] = [];
    let stale: string | undefined;
    for (const { entry, path, pattern, statuses } of this.#entries) {
      const status = this.#findStatus(entry, pattern, trial, judgement);
      if (status === null) continue;
      statuses.push(status);
      if (status === "matched") matched.push(pattern);
      if (status === "passing") stale ??= `passes, but ${path}:${entry.line} lists it as known (${entry.reason})`;
    }
    const { checks, verdict } = judgement;
    if (verdict === "pass" && stale !== undefined) return { verdict: "stale", stale };
    const failed = checks.filter((check) => check.verdict === "fail" || (this.#strict && check.verdict === "warn"));
    if (failed.length === 0) return { verdict };
    // An entry without a check covers the whole trial.
    const isCovered = (check: Check) => matched.some((pattern) => pattern.check?.test(check.path) ?? true);
    const isKnown = matched.some((pattern) => pattern.check === null) || failed.every(isCovered);
    return { verdict: isKnown ? "known" : "fail" };
  }

  /** Returns a message for each entry that is out of date, given the trials so far and all ids of the suite. */
  listOutdated(ids: readonly string[], today: string): string[] {
    return this.#entries.flatMap(({ entry, path, pattern, statuses }, i) => {
      const earlier = this.#entries
        .slice(0, i)
        .find(
          (other) =>
            other.path === path &&
            other.entry.match === entry.match &&
            other.entry.verdict === entry.verdict &&
            other.entry.message === entry.message,
        );
      const problems = [
        explainStatuses(entry, statuses),
        isUnmatched(entry, pattern, ids) &&
          "unmatched: it matches nothing in the suite (was a case renamed?): fix the pattern or remove it",
        entry.expires && today > entry.expires && `expired: on ${entry.expires}; fix the failure or set a later date`,
        earlier && `duplicate: of the entry on line ${earlier.entry.line}; remove one`,
      ];
      return problems
        .filter((problem) => typeof problem === "string" && problem !== "")
        .map((problem) => `${path}:${entry.line}: \`${entry.match}\` ${problem}`);
    });
  }

  #findStatus(entry: KnownFailure, pattern: Pattern, trial: Trial, { checks }: Judgement): Status | null {
    // A test runner ends a test that hangs, so nothing is known about the entry.
    if (entry.verdict !== "fail" || !pattern.case.test(trial.case.id) || !(pattern.delivery?.test(trial.name) ?? true))
      return null;
    const failed = checks.filter((check) => check.verdict !== "pass" && (pattern.check?.test(check.path) ?? true));
    const worst = pattern.check ? failed.find((check) => check.verdict !== "may") : findWorst(failed);
    if (worst && worst.verdict !== "may") {
      return describeCheck(worst).startsWith(entry.message ?? "") ? "matched" : "mismatched";
    }
    if (failed.length > 0) return "inconclusive";
    if (pattern.check === null) return "passing";
    if (checks.some((check) => check.path === "invariant.outcome-schema")) return "mismatched";
    const { check } = pattern;
    const isMade = (of: Trial) => judge(of, EMPTY, this.#claims).checks.some(({ path }) => check.test(path));
    // A broken stream may end with any beginning of the complete content, so all paths in that are possible.
    return isMade(trial) ? "passing" : isMade({ ...trial, expect: trial.case.expect }) ? "inconclusive" : null;
  }
}

function explainStatuses(entry: KnownFailure, statuses: readonly Status[]): string | null {
  const count = (status: Status) => statuses.filter((other) => other === status).length;
  const [matched, passing] = [count("matched"), count("passing")];
  if (matched > 0) {
    return passing > 0
      ? `too-wide: it fails in only ${matched} of ${matched + passing} trials: narrow the pattern`
      : null;
  }
  if (count("mismatched") > 0) {
    const failure = `\`${entry.verdict}\`${entry.message ? " with this message" : ""}`;
    return `stale: it no longer has ${failure}, but fails in a different way: update or remove the entry`;
  }
  return statuses.length > 0 ? "stale: it is fixed: remove the entry" : null;
}

/** Cases about behavior are not in the suite's files, so an entry about them may match. */
function isUnmatched({ match }: KnownFailure, pattern: Pattern, ids: readonly string[]): boolean {
  const [api, topic] = match.split("/");
  const isOfApi = ids.some((id) => id.startsWith(`${api}/`));
  return isOfApi && topic !== "behavior" && !topic?.includes("*") && !ids.some((id) => pattern.case.test(id));
}

function findWorst(failed: readonly Check[]): Check | undefined {
  const order = ["fail", "warn", "may"];
  return failed.toSorted((one, other) => order.indexOf(one.verdict) - order.indexOf(other.verdict))[0];
}

/** Returns a failed check as `path: message`, or as `path: expected JSON, got JSON`. */
export function describeCheck({ path, message, expected, got }: Check): string {
  return `${path}: ${message ?? `expected ${formatJson(expected)}, got ${formatJson(got)}`}`;
}
