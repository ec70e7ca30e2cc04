// Protocol v1 (JSON lines on stdin and stdout) for clients that send requests to the replay server themselves: input mode
// `http`.
//
// An adapter calls `serve(adapter, buildClient)`. `adapter(run, answer)` uses the library as its documentation shows, with
// `run.client`, which `buildClient(run)` has returned, reports to the recorder `answer`, and returns the outcome from
// `answer.finish`. If the run asks for several answers, it is called for each, with the same client; `answer.control` says what
// else to do. If the run has a conversation, the adapter sends it instead of the request, continues it with `run.turns`, and
// reports each answer, the last one last. The program's first argument contains the package and the claims.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { AnswerRecorder } from "./answer_recorder.mjs";
import { Control } from "./control.mjs";
import { describeRaised, isRaisedByLibrary } from "./normal_form.mjs";

// Libraries log to stdout, which is reserved for the protocol.
console.log = console.info = console.debug = console.error;

export function serve(adapter, buildClient) {
  const { package: name, issues, apis, vendor, lacks } = JSON.parse(process.argv[2]);
  const manifest = JSON.parse(readFileSync(new URL(`../node_modules/${name}/package.json`, import.meta.url), "utf8"));
  const hello = {
    op: "hello",
    protocol: 1,
    implementation: { name, version: manifest.version, language: "javascript", issues },
    apis: Object.keys(apis),
    inputs: ["http"],
    capabilities: apis,
    vendor,
    lacks,
    concurrency: 4, // a trial spends most of its time waiting for a stall to end or for the last chunk
  };
  createInterface({ input: process.stdin }).on("line", async (line) => {
    const message = JSON.parse(line);
    if (message.op === "hello") send(hello);
    else if (message.op === "stop") process.exit(0);
    else if (message.op === "run")
      send({ op: "result", id: message.id, ...(await runTrial(message, adapter, buildClient)) });
  });
}

async function runTrial(message, adapter, buildClient) {
  const { mode, base_url: url, api_key: key, transport = "http" } = message.input;
  if (mode !== "http") return { skipped: { reason: `input mode ${mode} is not supported, only http` } };
  const { api, model, pricing, control = {} } = message;
  const run = {
    api,
    model,
    pricing,
    url,
    key,
    transport,
    conversation: message.conversation,
    turns: message.turns ?? [],
  };
  run.request = structuredClone(message.request ?? {});
  run.maxRetries = control.retries === "default" ? undefined : 0;
  const above = message.digest_above;
  const wantsEvents = above === undefined && message.want.includes("events");
  const emit = (event) => wantsEvents && send({ op: "event", id: message.id, event });
  const begin = (asked) => new AnswerRecorder(emit, new Control(asked));
  try {
    run.client = buildClient?.(run);
    if (control.at_once || control.times) return { outcomes: await readAll(control, begin, run, adapter) };
    const answer = begin(control);
    const whole = await adapter(run, answer);
    const outcome = above === undefined ? whole : digestTexts(whole, above);
    const first = answer.first && answer.first !== whole ? { first: answer.first } : {};
    return { ...first, outcome, ...(answer.raised && { raised: answer.raised }) };
  } catch (error) {
    if (isRaisedByLibrary(error)) return { raised: describeRaised(error) };
    return { errored: { message: String(error), traceback: error?.stack ?? null } };
  }
}

// Returns the outcomes of several answers, at once or one after the other; only the first of these may be left.
async function readAll({ at_once: atOnce, times, ...control }, begin, run, adapter) {
  if (atOnce) return Promise.all(Array.from({ length: atOnce }, () => adapter(run, begin({}))));
  const outcomes = [];
  while (outcomes.length < times) outcomes.push(await adapter(run, begin(outcomes.length ? {} : control)));
  return outcomes;
}

// Returns a value with the length and the digest of each text of more than `above` characters.
function digestTexts(value, above) {
  if (typeof value === "string" && value.length > above) {
    return { length: countCharacters(value), sha256: createHash("sha256").update(value).digest("hex") };
  }
  if (Array.isArray(value)) return value.map((item) => digestTexts(item, above));
  if (value === null || typeof value !== "object" || value.toJSON !== undefined) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, digestTexts(item, above)]));
}

// The length of a string counts the halves of surrogate pairs.
function countCharacters(text) {
  return text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
}

function send(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
