// Protocol v1 for clients that ask the replay server themselves: JSON lines on stdin and stdout, input mode `http`.
//
// An adapter is `serve(read)`. `read(run, answer)` does with the library what its documentation says, tells `answer`
// what came of it, and returns the outcome that `answer.over` makes. Which package it is, and what it claims, stands in
// the first argument of the program.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { Answer } from "./answer.mjs";

// stdout is for the protocol alone, and libraries log.
console.log = console.info = console.debug = console.error;

export function serve(read) {
  const { package: name, issues, apis } = JSON.parse(process.argv[2]);
  const own = JSON.parse(readFileSync(new URL(`./node_modules/${name}/package.json`, import.meta.url), "utf8"));
  const hello = {
    op: "hello",
    protocol: 1,
    implementation: { name, version: own.version, language: "javascript", issues },
    apis: Object.keys(apis),
    inputs: ["http"],
    capabilities: apis,
    concurrency: 4, // most of the time a trial waits: for a stall to end, for the last chunk
  };
  createInterface({ input: process.stdin }).on("line", async (line) => {
    const message = JSON.parse(line);
    if (message.op === "hello") send(hello);
    else if (message.op === "stop") process.exit(0);
    else if (message.op === "run") send({ op: "result", id: message.id, ...(await result(message, read)) });
  });
}

async function result(message, read) {
  if (message.input.mode !== "http") return { skipped: { reason: `is not fed by mode ${message.input.mode}` } };
  const { api, model, pricing } = message;
  const run = { api, model, pricing, url: message.input.base_url, key: message.input.api_key };
  run.request = structuredClone(message.request ?? {});
  const live = message.want.includes("events");
  const answer = new Answer((event) => live && send({ op: "event", id: message.id, event }));
  try {
    return { outcome: await read(run, answer) };
  } catch (error) {
    return { errored: { message: String(error), traceback: error?.stack ?? null } };
  }
}

function send(message) {
  process.stdout.write(JSON.stringify(message) + "\n");
}
