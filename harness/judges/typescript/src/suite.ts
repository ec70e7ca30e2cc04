/** Reads suite files, and selects their trials. */

import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { parseTagged } from "./json.js";
import {
  type Case,
  type DeliverySet,
  type Expectation,
  LEVELS,
  type Level,
  SETS,
  type Suite,
  type TrialEntry,
} from "./model.js";
import { matchesId } from "./select.js";

/** One way to deliver the answer of a case, with what is then expected. */
export type Trial = {
  /** The case's id, `@`, and the name of the delivery or fault. */
  readonly id: string;
  readonly case: Case;
  readonly name: string;
  readonly level: Level;
  readonly set: DeliverySet;
  readonly expect: Expectation;
  /** Whether the API records the order of text and calls. */
  readonly ordered: boolean;
  /** The ids and signatures in the stream, in the order of their first mention. */
  readonly mentions: readonly string[];
  /** The delivered bytes, one chunk per network read; made anew by each call. */
  readonly makeChunks: () => Uint8Array[];
};

/** What to run. */
export type Selection = {
  /** The smallest set of deliveries and faults; `standard` by default, like `conform run`. */
  readonly set?: DeliverySet;
  /** The lowest level; `may` by default. */
  readonly level?: Level;
  /** Globs on the ids of cases or trials, or words in them; all by default. */
  readonly select?: readonly string[];
};

const KINDS = ["stream", "document"];

/** Returns the streams and documents in a file that `conform dev export-suite` has written. */
export function loadSuite(path: string): Suite {
  const suite = parseTagged(gunzipSync(readFileSync(path)).toString("utf8")) as unknown as Suite & { suite: unknown };
  if (suite.suite !== 1) throw new Error(`${path}: not a suite of version 1`);
  const cases = suite.cases.filter((each) => KINDS.includes(each.kind));
  return { ...suite, cases, ids: suite.cases.map((each) => each.id) };
}

/** Returns every trial of a suite whose bytes can be handed to a function. */
export function listTrials(suite: Suite): Trial[] {
  return suite.cases.flatMap((each) => {
    const body = () => decode(each.stream.body, each.stream.body_base64);
    const entries = each.trials.filter((entry) => entry.inputs.includes("bytes") && entry.transport === undefined);
    return entries.map(
      (entry): Trial => ({
        id: `${each.id}@${entry.name}`,
        case: each,
        name: entry.name,
        level: entry.level,
        set: entry.set,
        expect: entry.expect ?? each.expect,
        ordered: suite.ordered_content,
        mentions: entry.mentions ?? each.mentions,
        makeChunks: () => cut(entry, body()),
      }),
    );
  });
}

export function isSelected(trial: Trial, { set = "standard", level = "may", select = [] }: Selection): boolean {
  if (SETS.indexOf(trial.set) > SETS.indexOf(set) || LEVELS.indexOf(trial.level) > LEVELS.indexOf(level)) return false;
  return select.length === 0 || select.some((pattern) => matchesId(pattern, trial.id));
}

function cut(entry: TrialEntry, body: Uint8Array): Uint8Array[] {
  const start = body.subarray(0, entry.prefix ?? body.length);
  const bytes = Buffer.concat([start, decode(entry.append, entry.append_base64)]);
  if (entry.cuts === "every") return Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
  const starts = [0, ...entry.cuts];
  return starts.map((from, i) => bytes.subarray(from, starts[i + 1])).filter((chunk) => chunk.length > 0);
}

function decode(text = "", base64?: string): Uint8Array {
  return base64 === undefined ? Buffer.from(text, "utf8") : Buffer.from(base64, "base64");
}
