import assert from "node:assert/strict";
import { test } from "node:test";
import { listTrials, testConformance } from "../dist/index.js";
import { CASE, collect, lose, makeSuite, read } from "./made.mjs";

const END = "streamconform: claims and known failures";
const OPTIONS = { suites: [makeSuite(CASE)], capabilities: ["usage", "stop"] };
const run = (adapter, options = {}) => collect((each) => testConformance(each, adapter, { ...OPTIONS, ...options }));

test("each trial that a function can read is a test", async () => {
  assert.deepEqual(await run(read, { set: "full" }), {
    "made-api/text/greeting@as-is": null,
    "made-api/text/greeting@bytewise": null,
    [END]: null,
  });
});

test("the bytes come in the chunks of the trial", async () => {
  const sizes = [];
  await run((each) => {
    sizes.push(each.chunks.map((chunk) => chunk.length));
    return read(each);
  });
  assert.deepEqual(sizes, [
    [2, 3],
    [1, 1, 1, 1, 1],
  ]);
});

test("a trial may deliver a part of the body, and other bytes after it", () => {
  const trials = [
    { ...CASE.trials[0], prefix: 2, append: "é", cuts: [3] },
    { ...CASE.trials[0], prefix: 0, append_base64: "/wA=", cuts: "every" },
    { ...CASE.trials[0], prefix: 0, cuts: [] },
  ];
  const made = listTrials(makeSuite({ ...CASE, trials })).map((trial) => trial.makeChunks().map((chunk) => [...chunk]));
  assert.deepEqual(made, [[[72, 101, 195], [169]], [[255], [0]], []]);
});

test("a failure names the case, its page, its level, the path, and both values", async () => {
  const { "made-api/text/greeting@as-is": message } = await run(lose, { set: "fast" });
  assert.equal(
    message,
    `made-api/text/greeting@as-is
  A greeting
  level: must; spec: specs/made-api/text.yaml:3
  content.0.text
    expected: "Hello"
    got:      "Hell"`,
  );
});

test("an exception is an answer with the status `error`, and the failure shows it", async () => {
  const { "made-api/text/greeting@as-is": message } = await run(() => {
    throw new TypeError("no\nframe");
  });
  assert.match(message, /the library raised TypeError: no\\nframe\n/);
  assert.match(message, /status\n {4}expected: "complete"\n {4}got: {6}"error"/);
});

test("content beside an exception is judged", async () => {
  const trial = { ...CASE.trials[0], expect: { ...CASE.expect, fields: { status: { equals: "error" } } } };
  const suites = [makeSuite({ ...CASE, trials: [trial] })];
  const raising = (each) => ({ outcome: { ...read(each), status: "error" }, raised: new Error("cut") });
  assert.equal((await run(raising, { suites, capabilities: [] }))["made-api/text/greeting@as-is"], null);
});

test("an outcome that is not in the normal form is the adapter's fault", async () => {
  const { "made-api/text/greeting@as-is": message } = await run(() => ({ status: "done", content: [] }));
  assert.match(message, /the adapter is at fault.*\n.*outcome-schema: status is "done"; expected one of complete/);
});

test("a number that JSON does not have fails with its place", async () => {
  const { "made-api/text/greeting@as-is": message } = await run((each) => ({
    ...read(each),
    usage: { input: Number.NaN },
  }));
  assert.equal(message, "outcome.usage.input is NaN, which JSON cannot represent");
});

test("a key that is undefined counts as left out", async () => {
  const results = await run((each) => ({ ...read(each), error: undefined }), { capabilities: ["usage", "errors"] });
  assert.deepEqual(Object.values(results), [null, null, null]);
});

test("a claim of which no trial compared a value fails at the end", async () => {
  const silent = (each) => ({ ...read(each), usage: { output: 1 } });
  assert.match(
    (await run(silent))[END],
    /`usage` is claimed, but none of the 2 trials that expect one compared a value/,
  );
});

test("cases that need what is not claimed are left out", async () => {
  const suites = [makeSuite(CASE, { ...CASE, id: "made-api/text/document", capabilities: ["documents"] })];
  assert.deepEqual(Object.keys(await run(read, { suites, set: "fast" })), ["made-api/text/greeting@as-is", END]);
});

test("a warning fails only in a strict run", async () => {
  const trials = CASE.trials.map((trial) => ({ ...trial, level: "should" }));
  const suites = [makeSuite({ ...CASE, trials })];
  assert.equal((await run(lose, { suites }))["made-api/text/greeting@as-is"], null);
  assert.match((await run(lose, { suites, strict: true }))["made-api/text/greeting@as-is"], /content\.0\.text/);
});

test("a selection without trials is a mistake", () => {
  assert.throws(() => testConformance(test, read, { ...OPTIONS, select: ["other"] }), /no trials/);
});

test("trials are selected by set, level and patterns", async () => {
  const names = async (options) => Object.keys(await run(read, options)).length - 1;
  assert.equal(await names({ set: "fast" }), 1);
  assert.equal(await names({ select: ["made-api/*/greeting@byte*"] }), 1);
  assert.equal(await names({ select: ["greeting"] }), 2);
  const trials = CASE.trials.map((trial) => ({ ...trial, level: trial.name === "bytewise" ? "may" : "must" }));
  assert.equal(await names({ suites: [makeSuite({ ...CASE, trials })], level: "should" }), 1);
});
