// Builds pi-ai's provider and model for each API with the trial's prices, and reads the cost that pi-ai computes.

import { createModels, createProvider } from "@earendil-works/pi-ai";
import * as anthropicMessages from "@earendil-works/pi-ai/api/anthropic-messages";
import * as bedrockConverse from "@earendil-works/pi-ai/api/bedrock-converse-stream";
import * as googleGenerativeAI from "@earendil-works/pi-ai/api/google-generative-ai";
import * as openAICompletions from "@earendil-works/pi-ai/api/openai-completions";
import * as openAIResponses from "@earendil-works/pi-ai/api/openai-responses";

// The modules themselves, not their `.lazy` wrappers, which take seconds to load an SDK while other trials stream.
export const KINDS = {
  "openai-chat": { api: "openai-completions", provider: "openai", path: "/v1", module: openAICompletions },
  "openai-responses": { api: "openai-responses", provider: "openai", path: "/v1", module: openAIResponses },
  "anthropic-messages": { api: "anthropic-messages", provider: "anthropic", path: "", module: anthropicMessages },
  "google-generate": { api: "google-generative-ai", provider: "google", path: "/v1beta", module: googleGenerativeAI },
  "bedrock-converse": { api: "bedrock-converse-stream", provider: "amazon-bedrock", path: "", module: bedrockConverse },
};

// The providers that pi-ai knows by name, by the host of Chat Completions.
const PROVIDERS = {
  "api.cerebras.ai": "cerebras",
  "api.deepseek.com": "deepseek",
  "api.mistral.ai": "mistral",
  "api.x.ai": "xai",
  "generativelanguage.googleapis.com": "google",
  "openrouter.ai": "openrouter",
};

// The AWS SDK signs requests and needs credentials, which the replay server does not check.
Object.assign(process.env, {
  AWS_ACCESS_KEY_ID: "conform",
  AWS_SECRET_ACCESS_KEY: "conform",
  AWS_BEDROCK_FORCE_HTTP1: "1",
});

// Returns the collection of models and its only model.
export function buildModels({ api: kind, url, model: id, key, pricing, conversation }) {
  const { api, path, module, ...own } = KINDS[kind];
  const { host, thinking, max_output_tokens: maxTokens = 32000 } = conversation?.facts ?? {};
  const provider = (kind === "openai-chat" && PROVIDERS[host]) || own.provider;
  const tiers = (pricing?.tiers ?? []).map((tier) => ({
    ...readPrices({ ...pricing, ...tier }),
    inputTokensAbove: tier.above,
  }));
  const model = {
    api,
    provider,
    id,
    name: id,
    baseUrl: url + path,
    reasoning: thinking !== "none",
    input: ["text", "image"],
    cost: { ...readPrices(pricing ?? {}), tiers },
    contextWindow: 200000,
    maxTokens,
    ...buildCompat(api, conversation?.facts),
  };
  const models = createModels();
  const auth = {
    apiKey: { name: provider, resolve: async () => ({ auth: api.startsWith("bedrock") ? {} : { apiKey: key } }) },
  };
  models.setProvider(createProvider({ id: provider, auth, models: [model], api: module }));
  return { models, model };
}

// Returns what pi-ai's catalog says about such a model, if the conversation has facts about it.
function buildCompat(api, { host = "api.openai.com", thinking } = {}) {
  if (api === "anthropic-messages")
    return { compat: { supportsStrictTools: true, forceAdaptiveThinking: thinking === "adaptive" } };
  return api.startsWith("openai") && host === "api.openai.com" ? { compat: { supportsStrictMode: true } } : {};
}

function readPrices(pricing) {
  const price = (name) => Number(pricing[name] ?? 0);
  const cacheWrite = price(pricing.cache_write_5m == null ? "input" : "cache_write_5m");
  return { input: price("input"), output: price("output"), cacheRead: price("cache_read"), cacheWrite };
}

// Returns the cost as decimal text. pi-ai's sums are floats; twelve places exceed their precision. pi-ai has no prices for
// searches, service tiers, speeds and regions, and charges twice the input price for one-hour cache writes, so the cost is left
// out if the trial's prices differ.
export function convertCost({ input, output, cacheRead, cacheWrite, total }, pricing) {
  const { cache_write_1h: long, ...others } = pricing;
  const isUnknown = ["service_tier", "speed", "inference_geo", "web_search_per_1000"].some((name) => others[name]);
  if (isUnknown || (long && Number(long) !== 2 * Number(pricing.input))) return { currency: "USD" };
  const format = (value) => value.toFixed(12);
  const parts = {
    input: format(input),
    output: format(output),
    cache_read: format(cacheRead),
    cache_write: format(cacheWrite),
  };
  return { currency: "USD", ...parts, other: format(0), total: format(total) };
}
