// Adapter for @earendil-works/pi-ai: `models.stream(model, context, options)` of a provider built with `createProvider(…)`,
// with its events and the message from `result()`, which goes into the context of the next request.

import "./split_at_cr.mjs";
import { matchResults } from "../node/conversation.mjs";
import { readTools, TIMEOUT_SECONDS } from "../node/normal_form.mjs";
import { serve } from "../node/protocol.mjs";
import { convertConversation, convertMessages, convertOptions, convertResult } from "./pi_ai_messages.mjs";
import { buildModels, convertCost } from "./pi_ai_models.mjs";

const STOP_REASONS = { stop: "stop", length: "length", toolUse: "tool_use", error: "error" };
// Stop reasons for which pi-ai has no value of its own: it reports `stop` or, for filtered and refused answers, `error`, and
// passes on the provider's reason as `rawStopReason`.
const FILTER_REASONS =
  "content_filter content_filtered guardrail_intervened SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION";
const RAW_STOP_REASONS = { pause_turn: "pause", refusal: "refusal", OTHER: "other" };
for (const reason of FILTER_REASONS.split(" ")) RAW_STOP_REASONS[reason] = "content_filter";

serve(adapter, buildModels);

async function adapter(run, answer) {
  const { models, model } = run.client;
  if (run.conversation) return converse(run, models, model, answer);
  const context = {
    messages: [{ role: "user", content: "Hello.", timestamp: 0 }],
    tools: readTools(run.request).map(([name, description, parameters]) => ({ name, description, parameters })),
  };
  return (await ask(models, model, context, { maxRetries: run.maxRetries }, answer, run.pricing)).outcome;
}

// Sends the conversation, and after each answer a request with the answer and its turn.
async function converse({ conversation, turns, api, pricing }, models, model, answer) {
  const context = convertConversation(conversation, model);
  const options = convertOptions(conversation, api);
  let { outcome, message } = await ask(models, model, context, options, answer, pricing);
  for (const { results, messages = [] } of turns) {
    if (outcome.status === "error") break;
    const calls = message.content.filter(({ type }) => type === "toolCall");
    const pairs = matchResults(calls, results);
    context.messages.push(message, ...pairs.map(([call, result]) => convertResult(result, call.id)));
    context.messages.push(...convertMessages(messages, model));
    answer.startNext();
    ({ outcome, message } = await ask(models, model, context, options, answer, pricing));
  }
  return outcome;
}

async function ask(models, model, context, { simple, ...settings }, answer, pricing) {
  const options = { maxRetries: 0, ...settings, signal: answer.control.withTimeout(TIMEOUT_SECONDS) };
  const events = simple ? models.streamSimple(model, context, options) : models.stream(model, context, options);
  const ended = new Set();
  for await (const event of answer.control.watch(events)) handleEvent(event, answer, ended);
  if (answer.control.hasLeft) return { outcome: answer.finish({ status: "incomplete" }) };
  const message = await events.result();
  return { message, outcome: finish(message, ended, answer, pricing) };
}

function finish(message, ended, answer, pricing) {
  const content = message.content.map((part, index) => ({
    ...answer.content[index],
    ...convertBlock(part, ended.has(index)),
  }));
  const usage = readUsage(message.usage);
  const totalCost = usage && pricing ? convertCost(message.usage.cost, pricing) : null;
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
