// Builds LangChain's chat model for each API, with the tools and settings of a run.

import { ChatAnthropic } from "@langchain/anthropic";
import { ChatOpenAICompletions, ChatOpenAIResponses } from "@langchain/openai";
import { TIMEOUT_SECONDS } from "../node/normal_form.mjs";

const BUILDERS = {
  "openai-chat": buildOpenAI,
  "openai-responses": buildOpenAI,
  // ChatAnthropic chooses between text and blocks by the tools and `thinking`.
  "anthropic-messages": ({ url, key, model, request, maxRetries }, { maxTokens, temperature, thinking }) =>
    new ChatAnthropic({
      ...{ model, apiKey: key, anthropicApiUrl: url, maxRetries, maxTokens, temperature },
      ...((thinking || request.thinking) && { thinking: thinking ? convertThinking(thinking) : request.thinking }),
      clientOptions: { timeout: TIMEOUT_SECONDS * 1000 },
    }),
};

export function buildModel(run, tools, api) {
  const { max_tokens: maxTokens, temperature, thinking, tool_choice: choice, ...rest } = run.conversation ?? {};
  const model = BUILDERS[api](run, dropUndefined({ maxTokens, temperature, thinking }));
  if (!tools.length) return model;
  const options = { tool_choice: choice?.name ?? choice, parallel_tool_calls: rest.parallel_tool_calls };
  return model.bindTools(tools, dropUndefined(options));
}

function buildOpenAI({ api, url, key, model, maxRetries }, { maxTokens, temperature, thinking }) {
  const isResponses = api === "openai-responses";
  const effort = thinking === "off" ? "none" : thinking?.effort;
  // `ChatOpenAI` chooses between these two by the model and the settings.
  const Model = isResponses ? ChatOpenAIResponses : ChatOpenAICompletions;
  return new Model({
    ...{ model, apiKey: key, maxRetries, timeout: TIMEOUT_SECONDS * 1000 },
    ...{ maxTokens, temperature, streamUsage: true },
    ...(effort && { reasoning: { effort } }),
    // Nothing is stored on the server, so the library requests encrypted reasoning and sends it back.
    ...(isResponses && { zdrEnabled: true }),
    configuration: { baseURL: `${url}/v1` },
  });
}

function convertThinking(thinking) {
  if (thinking === "off") return { type: "disabled" };
  return thinking.budget ? { type: "enabled", budget_tokens: thinking.budget } : { type: "adaptive" };
}

function dropUndefined(object) {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}
