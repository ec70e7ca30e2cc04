// Converts the turns of a conversation to the form of OpenAI's APIs.

import { readText } from "../node/conversation.mjs";

// For Responses: returns the item with the result of a call.
export function convertOutput({ call_id }, { content }) {
  return { type: "function_call_output", call_id, output: convertContent(content) };
}

export function convertMessage({ role, content }) {
  return { role, content: convertContent(content) };
}

function convertContent(content) {
  return typeof content === "string" ? content : content.map(convertPart);
}

function convertPart({ type, text, value, media_type: mediaType, data }) {
  if (type === "image") return { type: "input_image", detail: "auto", image_url: `data:${mediaType};base64,${data}` };
  return { type: "input_text", text: type === "json" ? JSON.stringify(value) : text };
}

// For Chat Completions: returns the caller's messages, whose form differs from the API's only in images.
export function convertChatMessages(messages) {
  const convert = ({ type, text, media_type: mediaType, data }) =>
    type === "image" ? { type: "image_url", image_url: { url: `data:${mediaType};base64,${data}` } } : { type, text };
  return messages.map(({ role, content }) => ({
    role,
    content: typeof content === "string" ? content : content.map(convert),
  }));
}

// Returns a tool that the library runs; its results have no form but text, and no error.
export function makeRunnable({ function: declared, ...tool }, queue) {
  const run = () => readText(queue.take(declared.name).content);
  return { ...tool, function: { ...declared, function: run, parse: JSON.parse } };
}
