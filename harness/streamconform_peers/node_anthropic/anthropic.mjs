// Adapter for @anthropic-ai/sdk: `client.messages.stream(…)` of `Anthropic`.

import Anthropic from "@anthropic-ai/sdk";
import { serveMessages } from "../node/anthropic_messages.mjs";
import { TIMEOUT_SECONDS } from "../node/normal_form.mjs";

serveMessages(
  ({ url, key, maxRetries }) =>
    new Anthropic({ baseURL: url, apiKey: key, maxRetries, timeout: TIMEOUT_SECONDS * 1000 }),
);
