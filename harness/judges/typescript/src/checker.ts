#!/usr/bin/env node
/** Judges recorded answers: reads JSON lines from stdin, with the suite files as arguments, and writes one per line. */

import { once } from "node:events";
import { createInterface } from "node:readline";
import { formatCanonically, type Json, parseExactly } from "./json.js";
import { type Answer, judge } from "./judge.js";
import { listTrials, loadSuite, type Trial } from "./suite.js";

type Line = { trial: string; claims: string[]; answer: Answer };

const trials = new Map<string, Trial>();
for (const path of process.argv.slice(2)) {
  for (const trial of listTrials(loadSuite(path))) trials.set(trial.id, trial);
}
for await (const line of createInterface({ input: process.stdin })) {
  const { trial: id, claims, answer } = parseExactly(line) as unknown as Line;
  const trial = trials.get(id);
  if (trial === undefined) throw new Error(`no trial ${id} in the suite files`);
  const { verdict, culprit, checks, compared } = judge(trial, answer, new Set(claims));
  // Sorted, because a suite file does not have the order in which a spec names fields.
  const sorted = checks.toSorted((one, other) => (one.path < other.path ? -1 : one.path > other.path ? 1 : 0));
  const shown = sorted.map(({ path, level, verdict }) => ({ path, level, verdict }));
  const result = { trial: id, verdict, culprit, checks: shown, compared } as unknown as Json;
  if (!process.stdout.write(`${formatCanonically(result)}\n`)) await once(process.stdout, "drain");
}
