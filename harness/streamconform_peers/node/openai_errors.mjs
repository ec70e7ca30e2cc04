// Errors of openai.

import OpenAI from "openai";

// Reads an `error` event of Responses, which is flat; that of a WebSocket has an object, and a status beside it.
export function readErrorEvent(event) {
  const { code, type, message } = { code: event.code, message: event.message, ...event.error };
  return { type: code ?? type ?? null, message: message ?? null, status: event.status ?? null };
}

// Reads the provider's error: an HTTP error, an error in the stream (without a status), or the `error` event of Responses.
export function readProviderError(error) {
  if (error?.type === "error") return { type: error.code ?? null, message: error.message };
  if (!(error instanceof OpenAI.APIError) || error instanceof OpenAI.APIConnectionError) return null;
  const type = error.type ?? error.code;
  const message = typeof error.error === "string" ? error.error : (error.error?.message ?? error.message);
  return { type: type == null ? null : String(type), message, status: error.status ?? null };
}
