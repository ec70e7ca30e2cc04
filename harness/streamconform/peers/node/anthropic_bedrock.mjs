// Adapter for @anthropic-ai/bedrock-sdk: `client.messages.stream(…)` of `AnthropicBedrock`.

import { AnthropicBedrock } from "@anthropic-ai/bedrock-sdk";
import { readProviderError, serveMessages } from "./anthropic_messages.mjs";
import { TIMEOUT_SECONDS } from "./normal_form.mjs";

serveMessages(buildClient, readError);

function buildClient({ url, key }) {
  return new AnthropicBedrock({ baseURL: url, apiKey: key, maxRetries: 0, timeout: TIMEOUT_SECONDS * 1000 });
}

// Bedrock names the exception of an error response in a header, which the SDK's error exposes. Bytes that the SDK rejects raise
// an error whose cause is a plain Error or a RangeError; the cause of a lost connection has a code.
function readError(error) {
  const details = readProviderError(error);
  if (details) return { ...details, type: details.type ?? error.headers?.get("x-amzn-errortype") ?? null };
  const { name, code } = error.cause ?? {};
  const isRejected = ["Error", "RangeError"].includes(name) && !code;
  return isRejected ? { type: "protocol", message: error.message.slice(0, 2000) } : null;
}
