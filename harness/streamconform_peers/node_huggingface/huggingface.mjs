// Adapter for @huggingface/inference: `for await (const chunk of client.chatCompletionStream(…))`; callers join the chunks. The
// types have no field for reasoning and none for cached tokens, so `input` is the whole prompt.

import { InferenceClient, InferenceClientProviderApiError } from "@huggingface/inference";
import { readChunks } from "../node/chat_pieces.mjs";
import { TIMEOUT_SECONDS } from "../node/normal_form.mjs";
import { serve } from "../node/protocol.mjs";

serve(adapter, buildClient);

function buildClient({ url, key, maxRetries }) {
  return new InferenceClient(key, { endpointUrl: url, ...(maxRetries === 0 && { retry_on_error: false }) });
}

async function adapter(run, answer) {
  const request = { messages: [], ...run.request, model: run.model };
  const signal = answer.control.withTimeout(TIMEOUT_SECONDS);
  const open = () => run.client.chatCompletionStream(request, { signal });
  return readChunks(open, answer, { readContent, readUsage, readProviderError });
}

const readContent = ({ content }) => [["text", content]];
const readUsage = ({ prompt_tokens: input = null, completion_tokens: output = null }) => ({ input, output });

// Reads the error of a response or of the stream; an error in the stream has the response's status, 200.
function readProviderError(error) {
  if (!(error instanceof InferenceClientProviderApiError)) return null;
  const { body, status } = error.httpResponse;
  const details = body?.error && typeof body.error === "object" ? body.error : body;
  const type = details?.type ?? details?.code ?? null;
  const text = typeof body?.error === "string" ? body.error : details?.message;
  return {
    type: type === null ? null : String(type),
    message: text ?? error.message,
    status: status >= 400 ? status : null,
  };
}
