// Adapter for @openrouter/sdk: `for await (const chunk of await client.chat.send({ chatRequest: { …, stream: true } }))`;
// callers join the chunks.

import { OpenRouter } from "@openrouter/sdk";
import * as errors from "@openrouter/sdk/models/errors";
import { readChunks } from "../node/chat_pieces.mjs";
import { readTools, TIMEOUT_SECONDS } from "../node/normal_form.mjs";
import { serve } from "../node/protocol.mjs";
import { readSpeakeasyError } from "../node/speakeasy_errors.mjs";

serve(adapter, buildClient);

function buildClient({ url, key: apiKey, maxRetries }) {
  const retryConfig = maxRetries === 0 ? { strategy: "none" } : undefined;
  return new OpenRouter({ apiKey, serverURL: `${url}/api/v1`, retryConfig, timeoutMs: TIMEOUT_SECONDS * 1000 });
}

async function adapter(run, answer) {
  const tools = readTools(run.request).map(([name, description, parameters]) => ({
    type: "function",
    function: { name, description, parameters },
  }));
  const chatRequest = {
    model: run.model,
    messages: [{ role: "user", content: "Hello." }],
    stream: true,
    ...(tools.length && { tools }),
  };
  const open = () => readUntilError(run.client, chatRequest, answer.control.signal);
  return readChunks(open, answer, { readContent, readUsage, readProviderError });
}

// According to the library's documentation, an error in the stream is the `error` of a chunk.
async function* readUntilError(client, chatRequest, signal) {
  for await (const chunk of await client.chat.send({ chatRequest }, { fetchOptions: { signal } })) {
    yield chunk;
    if (chunk.error) throw new StreamError(chunk.error);
  }
}

class StreamError extends Error {
  constructor({ code, message, metadata }) {
    super(message);
    this.details = { type: metadata?.errorType ?? null, message, status: code ?? null };
  }
}

function readProviderError(error) {
  return error instanceof StreamError
    ? error.details
    : readSpeakeasyError(error, errors.OpenRouterError, errors.ResponseValidationError);
}

function readContent({ content, reasoning, refusal }) {
  return [
    ["thinking", reasoning],
    ["text", content],
    ["refusal", refusal],
  ];
}

function readUsage({
  promptTokens: input,
  completionTokens: output,
  promptTokensDetails: prompt,
  completionTokensDetails: completion,
}) {
  const [read, write] = [prompt?.cachedTokens ?? null, prompt?.cacheWriteTokens ?? null];
  return {
    input: input == null ? null : input - (read ?? 0) - (write ?? 0),
    cache_read: read,
    cache_write: write,
    output: output ?? null,
    reasoning: completion?.reasoningTokens ?? null,
  };
}
