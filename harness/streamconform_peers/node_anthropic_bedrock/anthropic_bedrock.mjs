// Adapter for @anthropic-ai/bedrock-sdk: `client.messages.stream(…)` of `AnthropicBedrock`.

import { AnthropicBedrock } from "@anthropic-ai/bedrock-sdk";
import { readProviderError, serveMessages } from "../node/anthropic_messages.mjs";
import { readRejected } from "../node/aws_errors.mjs";
import { TIMEOUT_SECONDS } from "../node/normal_form.mjs";

serveMessages(buildClient, readError);

function buildClient({ url, key, maxRetries }) {
  return new AnthropicBedrock({ baseURL: url, apiKey: key, maxRetries, timeout: TIMEOUT_SECONDS * 1000 });
}

// Bedrock names the exception of an error response in a header, which the SDK's error exposes.
function readError(error) {
  const details = readProviderError(error);
  if (details) return { ...details, type: details.type ?? error.headers?.get("x-amzn-errortype") ?? null };
  return readRejected(error.cause, error.message);
}
