// @mariozechner/pi-ai: `stream(model, context, options)`, its events, and the message of its `result()`.

import "./cuts.mjs";
import { stream } from "@mariozechner/pi-ai";
import { SECONDS, tools } from "./normal.mjs";
import { serve } from "./protocol.mjs";

const MODELS = {
  "openai-chat": { api: "openai-completions", provider: "openai", path: "/v1" },
  "openai-responses": { api: "openai-responses", provider: "openai", path: "/v1" },
  "anthropic-messages": { api: "anthropic-messages", provider: "anthropic", path: "" },
  "google-generate": { api: "google-generative-ai", provider: "google", path: "/v1beta" },
  "bedrock-converse": { api: "bedrock-converse-stream", provider: "amazon-bedrock", path: "" },
};

// Bedrock's requests are signed, whoever reads them.
Object.assign(process.env, { AWS_ACCESS_KEY_ID: "conform", AWS_SECRET_ACCESS_KEY: "conform", AWS_BEDROCK_FORCE_HTTP1: "1" });

const STOP = { stop: "stop", length: "length", toolUse: "tool_use", error: "error" };

// Its own words for a stream that ended before its end, or a connection that was lost: it tells all failures as text.
const CUT = new RegExp(
  [
    "^(?!\\{).*(ended (before|without)|premature|terminated|aborted|timed? ?out|Connection error|socket|ECONNRESET)",
    "^Incomplete JSON segment at the end",
    "^Truncated event message",
    "^Could not parse Anthropic SSE event \\w+: (Expected|Unexpected end|Unterminated)",
  ].join("|"),
  "i",
);

serve(read);

async function read(run, answer) {
  const { path, ...kind } = MODELS[run.api];
  const price = (name) => Number(run.pricing?.[name] ?? 0);
  const cost = { input: price("input"), output: price("output"), cacheRead: price("cache_read"), cacheWrite: price("cache_write_5m") };
  const model = {
    ...kind,
    id: run.model,
    name: run.model,
    baseUrl: run.url + path,
    reasoning: true,
    input: ["text"],
    cost,
    contextWindow: 200000,
    maxTokens: 32000,
  };
  const context = {
    messages: [{ role: "user", content: "Hello.", timestamp: 0 }],
    tools: tools(run.request).map(([name, description, parameters]) => ({ name, description, parameters })),
  };
  const signal = AbortSignal.timeout(SECONDS * 1000);
  const told = stream(model, context, { apiKey: run.key, maxRetries: 0, signal });
  const ended = new Set();
  for await (const event of told) tell(event, answer, ended);
  const message = await told.result();
  const content = message.content.map((part, at) => ({ ...answer.content[at], ...block(part, ended.has(at)) }));
  const counts = usage(message.usage);
  const money = run.pricing && counts ? costs(message.usage.cost) : null;
  answer.usage(counts, money);
  const failed = message.stopReason === "error" || message.stopReason === "aborted";
  const text = message.errorMessage ?? null;
  return answer.over({
    status: failed ? (CUT.test(text) ? "incomplete" : "error") : "complete",
    stop: { reason: STOP[message.stopReason] ?? "other", raw: null },
    error: failed ? { type: null, message: text, status: null } : null,
    content,
    usage: counts,
    cost: money,
    model: message.responseModel ?? message.model,
    response_id: message.responseId ?? null,
  });
}

function tell(event, answer, ended) {
  const { type, contentIndex: at, delta, partial } = event;
  const [, kind, step] = /^(text|thinking|toolcall)_(start|delta|end)$/.exec(type) ?? [];
  if (step === "start") {
    answer.start(kind === "toolcall" ? block(partial.content[at], false) : { type: kind }, at);
  } else if (step === "delta" && delta) {
    answer.delta(at, delta);
  } else if (step === "end") {
    ended.add(at);
    answer.end(at, block(event.toolCall ?? partial.content[at], true));
  }
}

function block(part, complete) {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "thinking": {
      const { thinking: text, thinkingSignature: signature = "", redacted = false } = part;
      // Of Responses it keeps the whole item.
      const whole = signature.startsWith("{") ? JSON.parse(signature).encrypted_content : signature;
      return { type: "thinking", text: redacted ? "" : text, signature: whole || null, redacted };
    }
    default: {
      const { name, arguments: value } = part;
      const [id] = String(part.id).split("|"); // of Responses it keeps the id of the item too
      return { type: "tool_call", id, name, arguments: complete ? value : null, complete };
    }
  }
}

// It has no word for what was not reported: all of it is 0 then.
function usage({ input, output, cacheRead, cacheWrite }) {
  if (!input && !output && !cacheRead && !cacheWrite) return null;
  return { input, output, cache_read: cacheRead, cache_write: cacheWrite };
}

// Money as text: its sums are floats, and twelve places are more than it can mean.
function costs({ input, output, cacheRead, cacheWrite, total }) {
  const text = (value) => value.toFixed(12);
  const parts = { input: text(input), output: text(output), cache_read: text(cacheRead), cache_write: text(cacheWrite) };
  return { currency: "USD", ...parts, other: text(0), total: text(total) };
}
