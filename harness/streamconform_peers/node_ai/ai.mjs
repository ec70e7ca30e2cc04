// Adapter for ai, the AI SDK, and its providers: `streamText(…)` and the parts of its `stream`. In a conversation, the SDK runs
// the tools, and `responseMessages` are added to the messages, as the guide says.

import { generateText, isStepCount, jsonSchema, streamText, tool } from "ai";
import { countAnswers, ResultQueue } from "../node/conversation.mjs";
import { parseArguments } from "../node/normal.mjs";
import { describeError, readTools, TIMEOUT_SECONDS } from "../node/normal_form.mjs";
import { serve } from "../node/protocol.mjs";
import { convertFirstUsage, readProviderError, readUsage } from "./ai_convert.mjs";
import { convertMessages, convertSettings, convertTools } from "./ai_messages.mjs";
import { MODEL_BUILDERS } from "./ai_models.mjs";

const STOP_REASONS = {
  stop: "stop",
  length: "length",
  "tool-calls": "tool_use",
  "content-filter": "content_filter",
  error: "error",
};
// Stop reasons for which the SDK has no value of its own; it passes them on as `rawFinishReason`.
const RAW_STOP_REASONS = { pause_turn: "pause", refusal: "refusal", content_filter: "content_filter" };
for (const reason of ["IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"]) RAW_STOP_REASONS[reason] = "content_filter";

serve(adapter, ({ api, key, url, model }) => MODEL_BUILDERS[api]({ apiKey: key }, url, model));

async function adapter(run, answer) {
  if (run.conversation) return converse(run, answer);
  const tools = readTools(run.request).map(([name, description, schema]) => [
    name,
    tool({ description, inputSchema: jsonSchema(schema) }),
  ]);
  const prompt = { prompt: "Hello.", tools: Object.fromEntries(tools) };
  return readSteps(streamText({ ...prompt, ...buildOptions(run, answer.control) }), answer);
}

function buildOptions({ client: model, maxRetries }, control) {
  return {
    model,
    maxRetries,
    abortSignal: control.withTimeout(TIMEOUT_SECONDS),
    onError: () => {}, // by default the SDK logs the error
  };
}

// Sends the conversation and its turns. The SDK goes on by itself until it has no results, or the caller adds messages.
async function converse(run, answer) {
  const { conversation, api, turns } = run;
  const settings = convertSettings(conversation, api);
  const isForced = settings.toolChoice === "required" || settings.toolChoice?.type === "tool";
  const options = {
    ...settings,
    tools: convertTools(conversation, new ResultQueue(turns)),
    ...buildOptions(run, answer.control),
    // Only the first answer must have a call: the SDK rejects an answer without one, which ends the conversation.
    prepareStep: ({ stepNumber }) => (isForced && stepNumber > 0 ? { toolChoice: "auto" } : undefined),
  };
  const messages = convertMessages(conversation.messages, api);
  if (conversation.stream === false) return readText(await generateText({ ...options, messages }), answer);
  for (let done = 0; ; ) {
    const planned = countAnswers(turns.slice(done));
    const result = streamText({ ...options, messages, stopWhen: isStepCount(planned) });
    const outcome = await readSteps(result, answer);
    done += planned;
    const isShort = outcome.status !== "complete" || (await result.steps).length < planned;
    if (isShort || done > turns.length) return outcome;
    messages.push(...(await result.responseMessages), ...convertMessages(turns[done - 1].messages ?? [], api));
    answer.startNext();
  }
}

// Reads an answer that was not streamed; only the request is judged.
function readText({ text }, answer) {
  answer.addPiece("text", text);
  return answer.finish({ status: "complete", stop: { reason: "stop", raw: null } });
}

// Reads the steps of a stream, each of which is an answer, and returns the outcome of the last one.
async function readSteps(result, answer) {
  let indexes = new Map(); // maps a part's id to its block's index
  let failed = null;
  let begin = null; // Anthropic's first counts, for answers that do not end
  let end = {};
  try {
    for await (const part of answer.control.watch(result.stream)) {
      if (part.type === "error") failed ??= part.error;
      else if (part.type === "abort") failed ??= new Error("aborted");
      else if (part.type === "start-step" && end.type) {
        finishStep(end, failed, answer);
        answer.startNext();
        [indexes, begin, end] = [new Map(), null, {}];
      } else if (part.type === "finish-step") {
        end = {
          ...part,
          usage: part.usage.inputTokens === undefined && begin ? convertFirstUsage(begin) : readUsage(part.usage),
        };
        answer.reportUsage(end.usage);
      } else if (part.type === "custom" && part.kind === "anthropic.message_start") {
        begin = part.providerMetadata.anthropic.usage;
      } else handlePart(part, answer, indexes);
    }
  } catch (error) {
    failed ??= error;
  }
  return finishStep(end, failed, answer);
}

function finishStep({ finishReason, rawFinishReason: raw = null, response, usage = null }, failed, answer) {
  // the SDK invents an id with this prefix if the stream has none
  const id = response?.id?.startsWith("aitxt-") ? null : (response?.id ?? null);
  const fields = { usage, model: response?.modelId ?? null, response_id: id };
  endCalls(answer, failed ? "error" : finishReason);
  if (failed) return answer.finish({ stop: { raw }, ...describeError(failed, readProviderError), ...fields });
  // Not all providers report a cut stream as `interrupted`; with others, its finish reason is `other`, without a raw reason.
  const isCut = !finishReason || finishReason === "interrupted" || (raw === null && finishReason === "other");
  const status = finishReason === "error" ? "error" : isCut ? "incomplete" : "complete";
  return answer.finish({
    status,
    stop: { reason: RAW_STOP_REASONS[raw] ?? STOP_REASONS[finishReason] ?? "other", raw },
    ...fields,
  });
}

function handlePart(part, answer, indexes) {
  const [kind, step] = part.type.split(/-(?=start$|delta$|end$)/);
  const type = { text: "text", reasoning: "thinking", "tool-input": "tool_call" }[kind];
  const signature = part.providerMetadata?.google?.thoughtSignature ?? null; // of a text or a call
  if (part.type === "tool-call") {
    const { toolCallId: id, toolName: name, input, invalid, providerExecuted } = part;
    const value = invalid ? parseArguments(typeof input === "string" ? input : JSON.stringify(input)) : input;
    const executor = providerExecuted ? "provider" : "client";
    const final = { id, name, arguments: value, complete: true, executor, signature };
    if (!indexes.has(id)) answer.addCall(final);
    else if (value !== null) answer.endBlock(indexes.get(id), final);
    else answer.content[indexes.get(id)].complete = true; // `endCalls` ends it once the stop reason is known
  } else if (type === undefined || part.providerExecuted) {
    if (signature && part.type === "file") answer.addSignedPiece("thinking", "", signature);
  } else if (step === "start") {
    const { id, toolName: name } = part;
    if (part.providerMetadata?.anthropic?.type === "compaction") {
      // a summary, exposed as a text part
      indexes.set(id, answer.startBlock({ type: "other", kind: "compaction", data: null }));
      return;
    }
    indexes.set(id, answer.startBlock({ type, ...(type === "tool_call" ? { id, name } : readSignature(part)) }));
  } else if (step === "delta") {
    Object.assign(
      answer.content[indexes.get(part.id)] ?? {},
      readSignature(part),
      type === "text" && signature ? { signature } : {},
    );
    if (part.text ?? part.delta) answer.addDelta(indexes.get(part.id), part.text ?? part.delta);
  } else if (type !== "tool_call") {
    const signed =
      type === "text"
        ? { signature: signature ?? answer.content[indexes.get(part.id)]?.signature ?? null }
        : readSignature(part);
    answer.endBlock(indexes.get(part.id), signed);
  }
}

// Ends the calls whose arguments do not parse. Whether the last one is complete depends on the stop reason.
function endCalls(answer, reason) {
  const { content } = answer;
  content.forEach((block, index) => {
    if (block.type !== "tool_call" || !block.complete || block.arguments !== null) return;
    block.complete = reason === "tool-calls" || reason === "stop" || index < content.length - 1;
    if (block.complete) answer.endBlock(index);
  });
}

// Returns the signature of a thinking part; each provider has its own field for it.
function readSignature({ type, providerMetadata: { anthropic, openai, google } = {} }) {
  if (!type.startsWith("reasoning")) return {};
  const redacted = anthropic?.redactedData;
  const encrypted = type === "reasoning-end" ? openai?.reasoningEncryptedContent : undefined; // the start's value is not final
  const signature = redacted ?? anthropic?.signature ?? encrypted ?? google?.thoughtSignature;
  return signature ? { signature, redacted: redacted !== undefined } : {};
}
