// Adapter for @earendil-works/pi-ai: `models.stream(model, context, options)` of a provider built with `createProvider(…)`,
// with its events and the message from `result()`.

import "./split_at_cr.mjs";
import { readTools, TIMEOUT_SECONDS } from "../node/normal_form.mjs";
import { buildModels, convertCost } from "./pi_ai_models.mjs";
import { serve } from "../node/protocol.mjs";

const STOP_REASONS = { stop: "stop", length: "length", toolUse: "tool_use", error: "error" };
// Stop reasons for which pi-ai has no value of its own: it reports `stop` or, for filtered and refused answers, `error`, and
// passes on the provider's reason as `rawStopReason`.
const FILTER_REASONS =
  "content_filter content_filtered guardrail_intervened SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION";
const RAW_STOP_REASONS = { pause_turn: "pause", refusal: "refusal", OTHER: "other" };
for (const reason of FILTER_REASONS.split(" ")) RAW_STOP_REASONS[reason] = "content_filter";

serve(adapter);

async function adapter(run, answer) {
  const { models, model } = buildModels(run);
  const context = {
    messages: [{ role: "user", content: "Hello.", timestamp: 0 }],
    tools: readTools(run.request).map(([name, description, parameters]) => ({ name, description, parameters })),
  };
  const signal = AbortSignal.timeout(TIMEOUT_SECONDS * 1000);
  const events = models.stream(model, context, { maxRetries: 0, signal });
  const ended = new Set();
  for await (const event of events) handleEvent(event, answer, ended);
  const message = await events.result();
  const content = message.content.map((part, index) => ({
    ...answer.content[index],
    ...convertBlock(part, ended.has(index)),
  }));
  const usage = readUsage(message.usage);
  const totalCost = usage && run.pricing ? convertCost(message.usage.cost, run.pricing) : null;
  if (usage) answer.reportUsage(usage, totalCost);
  // For Responses, the status comes first: `incomplete.max_output_tokens`.
  const raw = message.rawStopReason?.split(".").at(-1) ?? null;
  const reason = RAW_STOP_REASONS[raw] ?? STOP_REASONS[message.stopReason] ?? "other";
  const failed = reason === "error" || message.stopReason === "aborted";
  return answer.finish({
    status: failed ? "error" : "complete",
    stop: { reason, raw },
    error: failed ? { message: message.errorMessage ?? null } : null, // pi-ai reports every failure as text
    content,
    usage,
    cost: totalCost,
    ...(message.responseModel && { model: message.responseModel }), // only in Chat Completions; `model` is the requested one
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
      // For Responses, pi-ai keeps the whole reasoning item as the signature.
      const value = signature.startsWith("{") ? JSON.parse(signature).encrypted_content : signature;
      return { type: "thinking", text: redacted ? "" : text, signature: value || null, redacted };
    }
    default: {
      const { name, arguments: value } = part;
      const [id] = String(part.id).split("|"); // for Responses, the item's id follows
      return { type: "tool_call", id, name, arguments: complete ? value : null, complete };
    }
  }
}

// pi-ai reports 0 for counts that did not arrive, so only `input` may be 0. If all are 0, none arrived, except from Anthropic,
// for which pi-ai sets `cacheWrite1h` with the first counts.
function readUsage({
  input,
  output: all,
  cacheRead: read,
  cacheWrite: write,
  cacheWrite1h: long,
  reasoning,
  totalTokens,
}) {
  if (!totalTokens && long === undefined) return null;
  const counts = { output: all, cache_read: read, cache_write: write, cache_write_1h: long, reasoning };
  return { input, ...Object.fromEntries(Object.entries(counts).filter(([, count]) => count)) };
}
