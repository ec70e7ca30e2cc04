// @google/genai: `for await (const chunk of await ai.models.generateContentStream(…))`; the parts are the caller's to join.

import { ApiError, GoogleGenAI } from "@google/genai";
import { Calls } from "./google_calls.mjs";
import { SECONDS, stop, thrown } from "./normal.mjs";
import { serve } from "./protocol.mjs";

const FILTERED =
  "SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR JAILBREAK IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION";
const FAILED =
  "MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS MISSING_THOUGHT_SIGNATURE MALFORMED_RESPONSE LANGUAGE NO_IMAGE IMAGE_OTHER";
const all = (words, reason) => Object.fromEntries(words.split(" ").map((word) => [word, reason]));
const STOP = { STOP: "stop", MAX_TOKENS: "length", ...all(FILTERED, "content_filter"), ...all(FAILED, "error") };

serve(read);

async function read(run, answer) {
  const httpOptions = { baseUrl: run.url, timeout: SECONDS * 1000, retryOptions: { attempts: 1 } };
  // What is of Vertex AI alone the library refuses for the other host.
  const vertexai = Boolean(run.request.toolConfig?.functionCallingConfig?.streamFunctionCallArguments);
  const ai = new GoogleGenAI({ vertexai, apiKey: run.key, httpOptions });
  let raw = null;
  let blocked = null;
  const seen = {};
  const calls = new Calls(answer);
  try {
    for await (const chunk of await ai.models.generateContentStream(parameters(run))) {
      Object.assign(seen, defined({ usage: chunk.usageMetadata, model: chunk.modelVersion, response_id: chunk.responseId }));
      const candidate = chunk.candidates?.find(({ index = 0 }) => index === 0);
      for (const part of candidate?.content?.parts ?? []) tell(part, answer, calls);
      if (chunk.usageMetadata) answer.usage(usage(chunk.usageMetadata));
      raw = candidate?.finishReason ?? raw;
      blocked = chunk.promptFeedback?.blockReason ?? blocked;
    }
    answer.settle();
    if (raw === "STOP") calls.close();
    const rest = { ...seen, usage: seen.usage ? usage(seen.usage) : null };
    const end = blocked && !raw ? { reason: "content_filter", raw: blocked } : stop(raw, STOP, answer.content);
    const status = end.reason === "error" ? "error" : end.raw ? "complete" : "incomplete";
    return answer.over({ status, stop: end, ...rest });
  } catch (error) {
    answer.settle();
    return answer.over({ ...thrown(error, said), ...seen, usage: seen.usage ? usage(seen.usage) : null });
  }
}

// The library takes the body of the request apart: what is not the contents is its `config`.
function parameters({ request, model }) {
  const { contents, generationConfig, systemInstruction, tools, toolConfig, safetySettings, cachedContent } = request;
  const config = { ...generationConfig, systemInstruction, tools, toolConfig, safetySettings, cachedContent };
  return { model, contents, config: defined(config) };
}

function defined(given) {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function tell(part, answer, calls) {
  const { text, thought, thoughtSignature: signature = null, functionCall: call } = part;
  if (call) {
    answer.settle();
    if (signature) answer.sign(signature);
    calls.take(call);
  } else if (text !== undefined) {
    answer.piece(thought ? "thinking" : "text", text);
    if (signature) answer.sign(signature);
  } else {
    answer.settle();
    if (signature) answer.sign(signature);
    answer.start({ type: "other", kind: Object.keys(part)[0] ?? "empty", data: part });
  }
}

function usage(given) {
  const read = given.cachedContentTokenCount ?? null;
  const input = given.promptTokenCount == null ? null : given.promptTokenCount + (given.toolUsePromptTokenCount ?? 0);
  const thoughts = given.thoughtsTokenCount ?? null;
  const output = given.candidatesTokenCount ?? null;
  return {
    input: input === null ? null : input - (read ?? 0),
    cache_read: read,
    output: output === null && thoughts === null ? null : (output ?? 0) + (thoughts ?? 0),
    reasoning: thoughts,
  };
}

// The message of an ApiError is the provider's document as text.
function said(error) {
  if (!(error instanceof ApiError)) return null;
  try {
    const { error: told } = [JSON.parse(error.message.slice(error.message.search(/[[{]/)))].flat()[0];
    return { type: told.status ?? null, message: told.message, status: error.status };
  } catch {
    return { message: error.message, status: error.status };
  }
}
