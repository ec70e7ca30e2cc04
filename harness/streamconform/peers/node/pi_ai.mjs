// Adapter for @mariozechner/pi-ai: `stream(model, context, options)`, its events, and the message of its `result()`.

import "./split_at_cr.mjs";
import { stream } from "@mariozechner/pi-ai";
import { readTools, TIMEOUT_SECONDS } from "./normal_form.mjs";
import { serve } from "./protocol.mjs";

const MODELS = {
  "openai-chat": { api: "openai-completions", provider: "openai", path: "/v1" },
  "openai-responses": { api: "openai-responses", provider: "openai", path: "/v1" },
  "anthropic-messages": { api: "anthropic-messages", provider: "anthropic", path: "" },
  "google-generate": { api: "google-generative-ai", provider: "google", path: "/v1beta" },
  "bedrock-converse": { api: "bedrock-converse-stream", provider: "amazon-bedrock", path: "" },
};

// The AWS SDK signs requests and needs credentials, which the replay server does not check.
Object.assign(process.env, { AWS_ACCESS_KEY_ID: "conform", AWS_SECRET_ACCESS_KEY: "conform", AWS_BEDROCK_FORCE_HTTP1: "1" });

const STOP_REASONS = { stop: "stop", length: "length", toolUse: "tool_use", error: "error" };

// pi-ai reports every failure as text; these messages mean that the stream broke off or the connection was lost.
const CUT_MESSAGES = new RegExp(
  [
    "^(?!\\{).*(ended (before|without)|premature|terminated|aborted|timed? ?out|Connection error|socket|ECONNRESET)",
    "^Incomplete JSON segment at the end",
    "^Truncated event message",
    "^Could not parse Anthropic SSE event \\w+: (Expected|Unexpected end|Unterminated)",
  ].join("|"),
  "i",
);

serve(adapter);

async function adapter(run, answer) {
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
    tools: readTools(run.request).map(([name, description, parameters]) => ({ name, description, parameters })),
  };
  const signal = AbortSignal.timeout(TIMEOUT_SECONDS * 1000);
  const events = stream(model, context, { apiKey: run.key, maxRetries: 0, signal });
  const ended = new Set();
  for await (const event of events) handleEvent(event, answer, ended);
  const message = await events.result();
  const content = message.content.map((part, index) => ({ ...answer.content[index], ...convertBlock(part, ended.has(index)) }));
  const usage = readUsage(message.usage);
  const totalCost = run.pricing && usage ? convertCost(message.usage.cost) : null;
  answer.reportUsage(usage, totalCost);
  const failed = message.stopReason === "error" || message.stopReason === "aborted";
  const text = message.errorMessage ?? null;
  return answer.finish({
    status: failed ? (CUT_MESSAGES.test(text) ? "incomplete" : "error") : "complete",
    stop: { reason: STOP_REASONS[message.stopReason] ?? "other", raw: null },
    error: failed ? { type: null, message: text, status: null } : null,
    content,
    usage,
    cost: totalCost,
    model: message.responseModel ?? message.model,
    response_id: message.responseId ?? null,
  });
}

function handleEvent(event, answer, ended) {
  const { type, contentIndex: index, delta, partial } = event;
  const [, kind, step] = /^(text|thinking|toolcall)_(start|delta|end)$/.exec(type) ?? [];
  if (step === "start") {
    answer.startBlock(kind === "toolcall" ? convertBlock(partial.content[index], false) : { type: kind }, index);
  } else if (step === "delta" && delta) {
    answer.addDelta(index, delta);
  } else if (step === "end") {
    ended.add(index);
    answer.endBlock(index, convertBlock(event.toolCall ?? partial.content[index], true));
  }
}

function convertBlock(part, complete) {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "thinking": {
      const { thinking: text, thinkingSignature: signature = "", redacted = false } = part;
      // For Responses pi-ai keeps the whole reasoning item as the signature.
      const value = signature.startsWith("{") ? JSON.parse(signature).encrypted_content : signature;
      return { type: "thinking", text: redacted ? "" : text, signature: value || null, redacted };
    }
    default: {
      const { name, arguments: value } = part;
      const [id] = String(part.id).split("|"); // for Responses the item's id follows
      return { type: "tool_call", id, name, arguments: complete ? value : null, complete };
    }
  }
}

// pi-ai reports 0 for all counts if no usage arrived.
function readUsage({ input, output, cacheRead, cacheWrite }) {
  if (!input && !output && !cacheRead && !cacheWrite) return null;
  return { input, output, cache_read: cacheRead, cache_write: cacheWrite };
}

// Returns the cost as decimal text. pi-ai's sums are floats; twelve places exceed their precision.
function convertCost({ input, output, cacheRead, cacheWrite, total }) {
  const format = (value) => value.toFixed(12);
  const parts = { input: format(input), output: format(output), cache_read: format(cacheRead), cache_write: format(cacheWrite) };
  return { currency: "USD", ...parts, other: format(0), total: format(total) };
}
