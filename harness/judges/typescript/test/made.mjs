// A suite of one case that expects a text, and what the tests need to run it.

import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const EXPECTED = {
  fields: { status: { equals: "complete" }, "stop.reason": { equals: "stop" }, "usage.input": { equals: 7 } },
  content: [{ type: "text", fields: { text: { equals: "Hello" } } }],
};

export const CASE = {
  id: "made-api/text/greeting",
  kind: "stream",
  title: "A greeting",
  level: "must",
  capabilities: [],
  spec: "made-api/text.yaml",
  line: 3,
  mentions: [],
  stream: { request: { body: { model: "m" } }, status: 200, headers: {}, body: "Hello" },
  expect: EXPECTED,
  trials: [
    { name: "as-is", level: "must", set: "fast", inputs: ["bytes", "http"], cuts: [2] },
    { name: "bytewise", level: "must", set: "standard", inputs: ["bytes"], cuts: "every" },
    { name: "reset.1", level: "must", set: "full", inputs: ["http"], prefix: 1, cuts: [] },
  ],
};

export function makeSuite(...cases) {
  return {
    suite: 1,
    api: "made-api",
    streamconform: "0",
    ordered_content: true,
    cases,
    ids: cases.map(({ id }) => id),
  };
}

export function read({ chunks }) {
  const text = Buffer.concat(chunks).toString("utf8");
  return { status: "complete", content: [{ type: "text", text }], stop: { reason: "stop" }, usage: { input: 7 } };
}

export function lose(run) {
  return { ...read(run), content: [{ type: "text", text: "Hell" }] };
}

// Runs the tests that `make` makes with a function `test`; returns each name with its error's message, or null.
export async function collect(make) {
  const tests = [];
  make((name, body) => tests.push([name, body]));
  const results = {};
  for (const [name, body] of tests) {
    results[name] = await body().then(
      () => null,
      (error) => error.message,
    );
  }
  return results;
}

export function writeKnown(text) {
  const path = join(tmpdir(), `known-${process.pid}.yaml`);
  writeFileSync(path, text);
  return path;
}
