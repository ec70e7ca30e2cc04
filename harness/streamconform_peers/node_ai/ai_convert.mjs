// Converts usage and errors of the AI SDK.

import { APICallError, RetryError, StreamProviderError, TypeValidationError } from "ai";
import { parseArguments } from "../node/normal.mjs";

// Google's counts; the SDK returns 0 for those that were not reported.
const GOOGLE_COUNTS = {
  input: "promptTokenCount",
  cache_read: "cachedContentTokenCount",
  output: "candidatesTokenCount",
};
GOOGLE_COUNTS.reasoning = "thoughtsTokenCount";

export function readUsage({ outputTokens, inputTokenDetails: input, outputTokenDetails: output, inputTokens, raw }) {
  const usage = {
    input: input?.noCacheTokens ?? inputTokens ?? null,
    cache_read: input?.cacheReadTokens ?? null,
    cache_write: input?.cacheWriteTokens ?? null,
    cache_write_1h: raw?.cache_creation?.ephemeral_1h_input_tokens,
    output: outputTokens ?? null,
    reasoning: output?.reasoningTokens ?? null,
    web_searches: raw?.server_tool_use?.web_search_requests,
  };
  const isGoogle = Object.keys(raw ?? {}).some((name) => name.endsWith("TokenCount") || name === "trafficType");
  for (const [bucket, name] of isGoogle ? Object.entries(GOOGLE_COUNTS) : []) {
    if (usage[bucket] === 0 && raw[name] == null) delete usage[bucket];
  }
  // Mistral's provider leaves out a count of 0.
  if (usage.cache_read === null && raw?.prompt_tokens_details?.cached_tokens === 0) delete usage.cache_read;
  return usage;
}

// Converts the input counts in Anthropic's `message_start`, which the SDK passes on unchanged. The output count there is not
// final.
export function convertFirstUsage(usage) {
  const { input_tokens: input, cache_read_input_tokens: read, cache_creation_input_tokens: write } = usage;
  return { input, cache_read: read, cache_write: write };
}

// An APICallError has the provider's body; a StreamProviderError has the fields of an error in the stream. A RetryError has the
// errors of all attempts.
export function readProviderError(error) {
  if (RetryError.isInstance(error)) return readProviderError(error.lastError);
  if (APICallError.isInstance(error) && error.statusCode >= 400) {
    // The SDK parses errors with the provider's schema; a body that does not match it is exposed as text.
    const document = error.data ?? parseArguments(error.responseBody);
    const body = document?.error ?? document?.response?.error ?? [document].flat()[0]?.error ?? document;
    const type = body?.type === "error" ? body.code : (body?.type ?? body?.status ?? body?.code);
    return {
      type: type == null ? null : String(type),
      message: body?.message ?? error.message,
      status: error.statusCode,
    };
  }
  if (TypeValidationError.isInstance(error)) return { type: "protocol", message: error.message.slice(0, 500) };
  if (error instanceof Error && !StreamProviderError.isInstance(error)) return null;
  const { type, code, message = typeof error === "string" ? error : null } = error;
  const isEvent = type === "error" || type?.startsWith("response"); // the type of the event, for the Responses API
  const name = isEvent ? code : (type ?? code);
  return { type: name == null ? null : String(name), message };
}
