// Adapter for @mistralai/mistralai: `for await (const event of await client.chat.stream(…))`; callers join the chunks.
//
// Mistral's API sends complete calls; a piece without an id, for which the library returns the text `null`, continues a call.

import { Mistral } from "@mistralai/mistralai";
import * as errors from "@mistralai/mistralai/models/errors";
import { readChunks } from "../node/chat_pieces.mjs";
import { readTools, TIMEOUT_SECONDS } from "../node/normal_form.mjs";
import { serve } from "../node/protocol.mjs";
import { readSpeakeasyError } from "../node/speakeasy_errors.mjs";

serve(adapter, buildClient);

function buildClient({ url: serverURL, key: apiKey, maxRetries }) {
  const retryConfig = maxRetries === 0 ? { strategy: "none" } : undefined;
  return new Mistral({ apiKey, serverURL, retryConfig, timeoutMs: TIMEOUT_SECONDS * 1000 });
}

async function adapter(run, answer) {
  const tools = readTools(run.request).map(([name, description, parameters]) => ({
    type: "function",
    function: { name, description, parameters },
  }));
  const request = { model: run.model, messages: [{ role: "user", content: "Hello." }], ...(tools.length && { tools }) };
  const readProviderError = (error) => readSpeakeasyError(error, errors.MistralError, errors.ResponseValidationError);
  return readChunks(() => readEvents(run.client, request, answer.control.signal), answer, {
    readContent,
    readUsage,
    readProviderError,
    isNewCall,
  });
}

async function* readEvents(client, request, signal) {
  for await (const event of await client.chat.stream(request, { fetchOptions: { signal } })) yield event.data;
}

const isNewCall = (call, { id }) => Boolean(id) && id !== "null" && id !== call.id;

function readContent({ content }) {
  if (typeof content === "string") return [["text", content]];
  return (content ?? []).flatMap((part) => {
    if (part.type === "text") return [["text", part.text]];
    return part.type === "thinking" ? part.thinking.map(({ text }) => ["thinking", text ?? ""]) : [];
  });
}

// The library has no documented field for cached tokens, so `input` is the whole prompt.
function readUsage({ promptTokens, completionTokens }) {
  return { input: promptTokens ?? null, output: completionTokens ?? null };
}
