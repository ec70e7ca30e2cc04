// Which provider of the AI SDK reads which api, with the word `mistral` it is Mistral's.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createCohere } from "@ai-sdk/cohere";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createMistral } from "@ai-sdk/mistral";
import { createOpenAI } from "@ai-sdk/openai";

const MODELS = {
  "openai-chat": (options, path, model) => createOpenAI({ ...options, baseURL: `${path}/v1` }).chat(model),
  "openai-responses": (options, path, model) => createOpenAI({ ...options, baseURL: `${path}/v1` }).responses(model),
  "anthropic-messages": (options, path, model) => createAnthropic({ ...options, baseURL: `${path}/v1` })(model),
  "google-generate": (options, path, model) => createGoogleGenerativeAI({ ...options, baseURL: `${path}/v1beta` })(model),
  "cohere-chat": (options, path, model) => createCohere({ ...options, baseURL: `${path}/v2` })(model),
};
const MISTRAL = { "openai-chat": (options, path, model) => createMistral({ ...options, baseURL: `${path}/v1` })(model) };
export const models = process.argv.includes("mistral") ? MISTRAL : MODELS;
