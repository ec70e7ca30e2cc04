// Converts the turns of a conversation to parts of @google/genai.

import { createFunctionResponsePartFromBase64, createPartFromBase64, createPartFromText } from "@google/genai";
import { readContent, readText } from "../node/conversation.mjs";

// Returns the parts of a user's message.
export function convertContent(content) {
  if (typeof content === "string") return [createPartFromText(content)];
  return content.map(({ type, text, media_type: mediaType, data }) =>
    type === "image" ? createPartFromBase64(data, mediaType) : createPartFromText(text),
  );
}

// Returns the part with a result. The library documents the keys `output` and `error`; an object is a response as it is.
export function convertResult({ name, content, error }, id) {
  const value = readContent(content);
  const images = Array.isArray(value) ? value.filter(({ type }) => type === "image") : [];
  const text = typeof value === "string" || Array.isArray(value) ? readText(content) : null;
  const response = error ? { error: text } : text === null ? value : { output: text };
  const parts = images.map(({ data, media_type: mediaType }) => createFunctionResponsePartFromBase64(data, mediaType));
  return { functionResponse: { ...(id && { id }), name, response, ...(parts.length && { parts }) } };
}
