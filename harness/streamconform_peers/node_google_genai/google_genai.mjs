// Adapter for @google/genai: `for await (const chunk of await ai.models.generateContentStream(…))`; callers join the parts. In a
// conversation, `ai.chats` keeps the history: `chat.sendMessageStream({ message })`.

import { ApiError, GoogleGenAI } from "@google/genai";
import { matchResults } from "../node/conversation.mjs";
import { buildStop } from "../node/normal.mjs";
import { describeError, TIMEOUT_SECONDS } from "../node/normal_form.mjs";
import { serve } from "../node/protocol.mjs";
import { CallAssembler } from "./google_calls.mjs";
import { convertContent, convertResult } from "./google_turns.mjs";

const FILTER_REASONS =
  "SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR JAILBREAK ESCALATION PUP_LIMITED_DISABLED IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION";
const ERROR_REASONS =
  "MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS MISSING_THOUGHT_SIGNATURE MALFORMED_RESPONSE LANGUAGE NO_IMAGE IMAGE_OTHER";
const mapAll = (names, reason) => Object.fromEntries(names.split(" ").map((name) => [name, reason]));
const STOP_REASONS = {
  STOP: "stop",
  MAX_TOKENS: "length",
  CONTINUATION: "pause",
  ...mapAll(FILTER_REASONS, "content_filter"),
  ...mapAll(ERROR_REASONS, "error"),
};

serve(adapter, buildClient);

function buildClient({ url: baseUrl, key: apiKey, request, maxRetries }) {
  const retryOptions = maxRetries === 0 ? { attempts: 1 } : undefined;
  // The client rejects fields that only Vertex AI has, unless it is created for Vertex AI.
  const vertexai = Boolean(request.toolConfig?.functionCallingConfig?.streamFunctionCallArguments);
  return new GoogleGenAI({ vertexai, apiKey, httpOptions: { baseUrl, timeout: TIMEOUT_SECONDS * 1000, retryOptions } });
}

async function adapter(run, answer) {
  const { models } = run.client;
  if (run.turns.length) return converse(run.client, run, answer);
  const { config, ...parameters } = buildParameters(run);
  const { signal: abortSignal } = answer.control;
  const open = () => models.generateContentStream({ ...parameters, config: { ...config, abortSignal } });
  return (await readAnswer(open, answer)).outcome;
}

// Sends the conversation and its turns; the chat adds the answers to its history.
async function converse(ai, run, answer) {
  const { model, contents, config } = buildParameters(run);
  const chat = ai.chats.create({ model, config, history: contents.slice(0, -1) });
  let { outcome, calls } = await readAnswer(() => chat.sendMessageStream({ message: contents.at(-1).parts }), answer);
  for (const { results, messages = [] } of run.turns) {
    if (outcome.status === "error") break;
    const parts = matchResults(calls, results).map(([call, result]) => convertResult(result, call.id));
    const message = [...parts, ...messages.flatMap(({ content }) => convertContent(content))];
    answer.startNext();
    ({ outcome, calls } = await readAnswer(() => chat.sendMessageStream({ message }), answer));
  }
  return outcome;
}

// Returns the outcome and the client's calls, as the library returns them.
async function readAnswer(open, answer) {
  const received = [];
  let raw = null;
  let blocked = null;
  const fields = {};
  const calls = new CallAssembler(answer);
  try {
    for await (const chunk of answer.control.watch(await open())) {
      Object.assign(
        fields,
        dropUndefined({ usage: chunk.usageMetadata, model: chunk.modelVersion, response_id: chunk.responseId }),
      );
      const candidate = chunk.candidates?.find(({ index = 0 }) => index === 0);
      for (const part of candidate?.content?.parts ?? []) handlePart(part, answer, calls);
      received.push(...(chunk.functionCalls ?? []));
      if (chunk.usageMetadata) answer.reportUsage(readUsage(chunk.usageMetadata));
      raw = candidate?.finishReason ?? raw;
      blocked = chunk.promptFeedback?.blockReason ?? blocked;
    }
    answer.endOpenBlock();
    // A call that is still open is complete only if the answer ended normally.
    if (raw === "STOP") calls.close();
    const final = { ...fields, usage: fields.usage ? readUsage(fields.usage) : null };
    const end =
      blocked && !raw ? { reason: "content_filter", raw: blocked } : buildStop(raw, STOP_REASONS, answer.content);
    const status = end.reason === "error" ? "error" : end.raw ? "complete" : "incomplete";
    return { calls: received, outcome: answer.finish({ status, stop: end, ...final }) };
  } catch (error) {
    answer.endOpenBlock();
    const usage = fields.usage ? readUsage(fields.usage) : null;
    return { outcome: answer.finish({ ...describeError(error, readProviderError), ...fields, usage }) };
  }
}

// Splits a request's body into the library's parameters: all fields but the contents go into `config`.
function buildParameters({ request, model }) {
  const { contents, generationConfig, systemInstruction, tools, toolConfig, safetySettings, cachedContent } = request;
  const config = { ...generationConfig, systemInstruction, tools, toolConfig, safetySettings, cachedContent };
  return { model, contents, config: dropUndefined(config) };
}

function dropUndefined(object) {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}

function handlePart(part, answer, calls) {
  const { text, thought, thoughtSignature: signature = null, functionCall: call, toolCall } = part;
  if (call) {
    answer.endOpenBlock();
    calls.add({ ...call, signature });
  } else if (toolCall) {
    answer.addCall({
      id: toolCall.id,
      name: toolCall.toolType,
      arguments: toolCall.args ?? {},
      executor: "provider",
      signature,
    });
  } else if (text !== undefined || Object.keys(part).join() === "thoughtSignature") {
    if (signature) answer.addSignedPiece(thought ? "thinking" : "text", text, signature);
    else answer.addPiece(thought ? "thinking" : "text", text);
  } else {
    answer.endOpenBlock();
    // The next request sends the signature back with the part, which the normal form cannot represent.
    if (signature) answer.addSignedPiece("thinking", "", signature);
    answer.startBlock({ type: "other", kind: Object.keys(part)[0] ?? "empty", data: part });
  }
}

function readUsage(usage) {
  const read = usage.cachedContentTokenCount ?? null;
  const input = usage.promptTokenCount == null ? null : usage.promptTokenCount + (usage.toolUsePromptTokenCount ?? 0);
  const thoughts = usage.thoughtsTokenCount ?? null;
  const output = usage.candidatesTokenCount ?? null;
  return {
    input: input === null ? null : input - (read ?? 0),
    cache_read: read,
    output: output === null && thoughts === null ? null : (output ?? 0) + (thoughts ?? 0),
    reasoning: thoughts,
  };
}

// The message of an ApiError contains the provider's error document as JSON text.
function readProviderError(error) {
  if (!(error instanceof ApiError)) return null;
  try {
    const { error: details } = [JSON.parse(error.message.slice(error.message.search(/[[{]/)))].flat()[0];
    return { type: details.status ?? null, message: details.message, status: error.status ?? null };
  } catch {
    return { message: error.message, status: error.status ?? null };
  }
}
