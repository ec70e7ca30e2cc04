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

serve(adapter);

async function adapter(run, answer) {
  const { path, ...kind } = MODELS[run.api];
  const price = (name) => Number(run.pricing?.[name] ?? 0);
  const cacheWrite = price(run.pricing?.cache_write_5m == null ? "input" : "cache_write_5m");
  const cost = { input: price("input"), output: price("output"), cacheRead: price("cache_read"), cacheWrite };
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
  const totalCost = run.pricing && usage ? convertCost(message.usage.cost, run.pricing) : null;
  answer.reportUsage(usage, totalCost);
  const failed = message.stopReason === "error" || message.stopReason === "aborted";
  return answer.finish({
    status: failed ? "error" : "complete",
    stop: { reason: STOP_REASONS[message.stopReason] ?? "other" },
    error: failed ? { message: message.errorMessage ?? null } : null, // every failure is reported as text
    content,
    usage,
    cost: totalCost,
    ...(message.responseModel && { model: message.responseModel }), // only Chat Completions; `model` is the requested one
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

// pi-ai reports 0 for counts that did not arrive.
function readUsage({ input, output, cacheRead, cacheWrite }) {
  if (!input && !output && !cacheRead && !cacheWrite) return null;
  return { input, ...(output && { output }), ...(cacheRead && { cache_read: cacheRead }), ...(cacheWrite && { cache_write: cacheWrite }) };
}

// Returns the cost as decimal text. pi-ai's sums are floats; twelve places exceed their precision.
// It has no tiers, no price of one-hour cache writes and none of searches, so the cost is left out where there are any.
function convertCost({ input, output, cacheRead, cacheWrite, total }, pricing) {
  const unknown = ["tiers", "service_tier", "cache_write_1h", "web_search_per_1000"].filter((name) => pricing[name]);
  if (unknown.length) return { currency: "USD" };
  const format = (value) => value.toFixed(12);
  const parts = { input: format(input), output: format(output), cache_read: format(cacheRead), cache_write: format(cacheWrite) };
  return { currency: "USD", ...parts, other: format(0), total: format(total) };
}
