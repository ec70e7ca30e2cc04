// ai, the AI SDK, with its providers: `streamText(…)` and the parts of its `fullStream`.

import { jsonSchema, streamText, tool } from "ai";
import { models } from "./ai_models.mjs";
import { said, usage } from "./ai_told.mjs";
import { parsed, SECONDS, thrown, tools } from "./normal.mjs";
import { serve } from "./protocol.mjs";

const STOP = { stop: "stop", length: "length", "tool-calls": "tool_use", "content-filter": "content_filter", error: "error" };

serve(read);

async function read(run, answer) {
  const result = streamText({
    model: models[run.api]({ apiKey: run.key }, run.url, run.model),
    prompt: "Hello.",
    tools: Object.fromEntries(
      tools(run.request).map(([name, description, schema]) => [name, tool({ description, inputSchema: jsonSchema(schema) })]),
    ),
    maxRetries: 0,
    abortSignal: AbortSignal.timeout(SECONDS * 1000),
    onError: () => {}, // else it is logged
  });
  const at = new Map(); // id of a part to the index of its block
  let failed = null;
  let end = {};
  try {
    for await (const part of result.fullStream) {
      if (part.type === "error") failed ??= part.error;
      else if (part.type === "abort") failed ??= new Error("aborted");
      else if (part.type === "finish-step") {
        end = part;
        answer.usage(usage(part.usage));
      } else tell(part, answer, at);
    }
  } catch (error) {
    failed ??= error;
  }
  const { finishReason, rawFinishReason: raw = null, response } = end;
  const rest = { usage: end.usage ? usage(end.usage) : null, model: response?.modelId ?? null, response_id: response?.id ?? null };
  settle(answer, failed ? "error" : finishReason);
  if (failed) return answer.over({ stop: { raw }, ...thrown(failed, said), ...rest });
  // It has no word for a stream that was cut: the reason is then `other`, and nothing stands behind it.
  const failure = finishReason === "error" ? "error" : null;
  const status = failure ?? (!finishReason || (raw === null && finishReason === "other") ? "incomplete" : "complete");
  return answer.over({ status, stop: { reason: STOP[finishReason] ?? "other", raw }, ...rest });
}

function tell(part, answer, at) {
  const [kind, step] = part.type.split(/-(?=start$|delta$|end$)/);
  const type = { text: "text", reasoning: "thinking", "tool-input": "tool_call" }[kind];
  const hidden = part.providerMetadata?.google?.thoughtSignature; // on what is no thinking, it is that of a thought not shown
  if (part.type === "tool-call") {
    const { toolCallId: id, toolName: name, input, invalid, providerExecuted } = part;
    const value = invalid ? parsed(typeof input === "string" ? input : JSON.stringify(input)) : input;
    const executor = providerExecuted ? "provider" : "client";
    const final = { id, name, arguments: value, complete: true, executor };
    if (!at.has(id) && hidden) answer.sign(hidden);
    if (!at.has(id)) answer.call(final);
    else if (value !== null) answer.end(at.get(id), final);
    else answer.content[at.get(id)].complete = true; // its end has to wait for the reason
  } else if (type === undefined || part.providerExecuted) {
    if (hidden && part.type === "file") answer.sign(hidden);
  } else if (step === "start") {
    const { id, toolName: name } = part;
    if (hidden && type === "tool_call") answer.sign(hidden);
    at.set(id, answer.start({ type, ...(type === "tool_call" ? { id, name } : signed(part)) }));
  } else if (step === "delta") {
    Object.assign(answer.content[at.get(part.id)] ?? {}, signed(part), type === "text" && hidden ? { hidden } : {});
    if (part.text ?? part.delta) answer.delta(at.get(part.id), part.text ?? part.delta);
  } else if (type !== "tool_call") {
    answer.end(at.get(part.id), signed(part));
    const signature = hidden ?? answer.content[at.get(part.id)]?.hidden;
    if (signature && type === "text") answer.sign(signature);
  }
}

// Ends the calls that do not parse; the last one of an answer that was broken off is not complete.
function settle(answer, reason) {
  const { content } = answer;
  content.forEach((block, at) => {
    if (block.type !== "tool_call" || !block.complete || block.arguments !== null) return;
    block.complete = reason === "tool-calls" || reason === "stop" || at < content.length - 1;
    if (block.complete) answer.end(at);
  });
}

// Each provider has its own words for what has to be sent back.
function signed({ type, providerMetadata: { anthropic, openai, google } = {} }) {
  if (!type.startsWith("reasoning")) return {};
  const redacted = anthropic?.redactedData;
  const sealed = type === "reasoning-end" ? openai?.reasoningEncryptedContent : undefined; // what comes at the start is not final
  const signature = redacted ?? anthropic?.signature ?? sealed ?? google?.thoughtSignature;
  return signature ? { signature, redacted: redacted !== undefined } : {};
}
