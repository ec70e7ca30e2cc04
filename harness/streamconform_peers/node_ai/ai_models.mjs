// Builds the AI SDK's model for each API. With the argument `mistral`, Mistral's provider reads openai-chat.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createCohere } from "@ai-sdk/cohere";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createMistral } from "@ai-sdk/mistral";
import { createOpenAI } from "@ai-sdk/openai";

const BUILDERS = {
  "openai-chat": (options, url, model) => createOpenAI({ ...options, baseURL: `${url}/v1` }).chat(model),
  "openai-responses": (options, url, model) => createOpenAI({ ...options, baseURL: `${url}/v1` }).responses(model),
  "anthropic-messages": (options, url, model) => createAnthropic({ ...options, baseURL: `${url}/v1` })(model),
  "google-generate": (options, url, model) => createGoogleGenerativeAI({ ...options, baseURL: `${url}/v1beta` })(model),
  "cohere-chat": (options, url, model) => createCohere({ ...options, baseURL: `${url}/v2` })(model),
};
const MISTRAL_BUILDERS = {
  "openai-chat": (options, url, model) => createMistral({ ...options, baseURL: `${url}/v1` })(model),
};
export const MODEL_BUILDERS = process.argv.includes("mistral") ? MISTRAL_BUILDERS : BUILDERS;
