// Chat Completions through libraries that Stainless generates: `client.chat.completions.create({ …, stream: true })`.

import { readChunks } from "./chat_pieces.mjs";
import { readChatUsage } from "./normal.mjs";
import { TIMEOUT_SECONDS } from "./normal_form.mjs";
import { serve } from "./protocol.mjs";

// Serves the library whose client is `Client`. `buildURL` converts the run's base URL, `differences` says how the chunks differ
// from OpenAI's, and `settings` are additional client options.
export function serveChat(Client, buildURL, differences, settings = {}) {
  const buildClient = ({ url, key, maxRetries }) =>
    new Client({ baseURL: buildURL(url), apiKey: key, maxRetries, timeout: TIMEOUT_SECONDS * 1000, ...settings });
  const library = { readContent, readUsage: readChatUsage, readProviderError: (error) => readError(error, Client) };
  serve(({ client, request }, answer) => {
    const { signal } = answer.control;
    const open = () => client.chat.completions.create({ messages: [], ...request, stream: true }, { signal });
    return readChunks(open, answer, { ...library, ...differences, abort: (stream) => stream.controller.abort() });
  }, buildClient);
}

function readContent({ content, reasoning, reasoning_content: thought }) {
  return [
    ["thinking", reasoning || thought],
    ["text", content],
  ];
}

// An APIError from the stream has the provider's body but no status.
function readError(error, Client) {
  if (!(error instanceof Client.APIError) || error instanceof Client.APIConnectionError) return null;
  const body = error.error?.error ?? error.error;
  const type = body?.type ?? body?.code ?? null;
  const message = typeof body === "string" ? body : (body?.message ?? error.message);
  return { type: type === null ? null : String(type), message, status: error.status ?? null };
}
