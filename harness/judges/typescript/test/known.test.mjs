import assert from "node:assert/strict";
import { test } from "node:test";
import { readKnownFailures, testConformance } from "../dist/index.js";
import { CASE, collect, lose, makeSuite, read, writeKnown } from "./made.mjs";

const [AS_IS, BYTEWISE, END] = [
  "made-api/text/greeting@as-is",
  "made-api/text/greeting@bytewise",
  "streamconform: claims and known failures",
];
const REST = "verdict: fail, reason: not fixed, issue: a/b#1";

async function run(adapter, ...entries) {
  const path = writeKnown(`known-failures: 1\nentries:\n${entries.map((entry) => `  - {${entry}}\n`).join("")}`);
  const options = { suites: [makeSuite(CASE)], capabilities: ["usage", "stop"], knownFailures: [path] };
  const results = await collect((each) => testConformance(each, adapter, options));
  return Object.fromEntries(
    Object.entries(results).map(([name, text]) => [name, text?.replaceAll(path, "known.yaml") ?? null]),
  );
}

test("a listed failure does not fail", async () => {
  assert.deepEqual(await run(lose, `match: made-api/**, ${REST}`), { [AS_IS]: null, [BYTEWISE]: null, [END]: null });
});

test("an entry for a check covers a trial that fails in nothing else", async () => {
  const results = await run(lose, `match: "made-api/**:content.*.text", ${REST}`);
  assert.deepEqual(Object.values(results), [null, null, null]);
  const other = await run(lose, `match: "made-api/**:usage.input", ${REST}`);
  assert.match(other[AS_IS], /content\.0\.text/);
});

test("an entry with another message does not cover a failure, and is out of date", async () => {
  const results = await run(lose, `match: made-api/**, message: "status: ", ${REST}`);
  assert.match(results[AS_IS], /content\.0\.text/);
  assert.match(results[END], /^known\.yaml:3: `made-api\/\*\*` stale: it no longer has `fail` with this message/);
});

test("a listed trial that passes fails, with the entry's line", async () => {
  const results = await run(read, `match: made-api/**@as-is, ${REST}`);
  assert.equal(results[AS_IS], `${AS_IS} passes, but known.yaml:3 lists it as known (not fixed)`);
  assert.match(results[END], /stale: it is fixed: remove the entry/);
});

test("an entry that matches also trials that pass is too wide", async () => {
  const adapter = (each) => (each.chunks.length > 2 ? lose(each) : read(each));
  assert.match((await run(adapter, `match: made-api/**, ${REST}`))[END], /too-wide: it fails in only 1 of 2 trials/);
});

test("entries that match nothing, have expired or are there twice are out of date", async () => {
  const results = await run(
    lose,
    `match: made-api/**, expires: "2020-01-31", ${REST}`,
    `match: made-api/text/renamed, ${REST}`,
    `match: made-api/**, ${REST}`,
    `match: other-api/**, ${REST}`,
  );
  assert.match(results[END], /known\.yaml:3: .* expired: on 2020-01-31/);
  assert.match(results[END], /known\.yaml:4: .* unmatched: /);
  assert.match(results[END], /known\.yaml:5: .* duplicate: of the entry on line 3/);
  assert.doesNotMatch(results[END], /other-api/);
});

test("a file for another implementation is not used", () => {
  const path = writeKnown(`known-failures: 1\nimplementation: mine\nentries:\n  - {match: a/**, ${REST}}\n`);
  assert.equal(readKnownFailures(path, "other").entries.length, 0);
  assert.equal(readKnownFailures(path, "mine").entries.length, 1);
});

test("entries by cause are only counted", () => {
  const path = writeKnown(`known-failures: 1\nentries:\n  - {cause: text-lost, api: made-api, trials: 2}\n`);
  assert.deepEqual(readKnownFailures(path), { path, entries: [], causes: 1 });
});

test("what is wrong with a file is said with its line", () => {
  const check = (text, expected) => assert.throws(() => readKnownFailures(writeKnown(text)), expected);
  check("entries: []\n", /not a known-failures file/);
  check("known-failures: 1\nentries:\n  - {match: a, verdict: fail}\n", /:3: no text `reason`, no text `issue`/);
  check(`known-failures: 1\nentries:\n  - {match: a, why: b, ${REST}}\n`, /:3: unknown key `why`/);
});
