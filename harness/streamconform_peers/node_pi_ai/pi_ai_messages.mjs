// Converts a conversation to pi-ai's context and options.

import { KINDS } from "./pi_ai_models.mjs";

const ZERO_COST = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
const NO_USAGE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: ZERO_COST };
const STOP_REASONS = { tool_use: "toolUse", length: "length", stop: "stop" };

export function convertConversation({ system, messages, tools = [] }, model) {
  return {
    systemPrompt: system,
    messages: convertMessages(messages, model),
    tools: tools.map(({ name, description, parameters, strict }) => ({
      name,
      description: description ?? "",
      parameters,
      ...(strict && { constrainedSampling: { type: "json_schema", strict: "prefer" } }),
    })),
  };
}

export function convertMessages(messages, model) {
  return messages.flatMap((message) => {
    if (message.role === "user") return [{ role: "user", content: convertContent(message.content), timestamp: 0 }];
    if (message.role === "tool") return message.results.map((result) => convertResult(result, result.id));
    return [convertAnswer(message, model)];
  });
}

export function convertResult({ name: toolName, content, error }, toolCallId) {
  const parts = convertContent(content);
  const list = typeof parts === "string" ? [{ type: "text", text: parts }] : parts;
  return { role: "toolResult", toolCallId, toolName, content: list, isError: Boolean(error), timestamp: 0 };
}

function convertContent(content) {
  if (typeof content === "string") return content;
  return content.map(({ type, text, value, media_type: mimeType, data }) =>
    type === "image"
      ? { type, data, mimeType }
      : { type: "text", text: type === "json" ? JSON.stringify(value) : text },
  );
}

function convertAnswer({ content, api, model: id, response_id: responseId, stop }, model) {
  const kind = api ? KINDS[api] : null;
  const blocks = content.flatMap((block) => convertBlock(block, kind?.api ?? model.api));
  const hasCalls = blocks.some(({ type }) => type === "toolCall");
  return {
    role: "assistant",
    content: blocks,
    api: kind?.api ?? (api || model.api), // of an API that pi-ai does not have, the name is as good as any
    provider: kind && kind.api !== model.api ? kind.provider : model.provider,
    model: id ?? model.id,
    ...(responseId && { responseId }),
    usage: NO_USAGE,
    stopReason: STOP_REASONS[stop] ?? (hasCalls ? "toolUse" : "stop"),
    timestamp: 0,
  };
}

// Returns the blocks for a block, with signatures where pi-ai keeps them for the API of the answer.
function convertBlock(block, api) {
  const { type, text, signature, redacted, id, name, phase } = block;
  const isResponses = api === "openai-responses";
  switch (type) {
    case "text":
    case "refusal": {
      const own = phase ? JSON.stringify({ v: 1, id: "", phase }) : signature;
      return [{ type: "text", text, ...(own && { textSignature: own }) }];
    }
    case "thinking": {
      const summary = text ? [{ type: "summary_text", text }] : [];
      const item = { type: "reasoning", ...(id && { id }), summary, encrypted_content: signature };
      const own = isResponses ? signature && JSON.stringify(item) : signature;
      return [
        {
          type: "thinking",
          thinking: text ?? "",
          ...(own && { thinkingSignature: own }),
          ...(redacted && { redacted }),
        },
      ];
    }
    case "tool_call":
      if (block.executor === "provider") return [];
      return [
        {
          type: "toolCall",
          id,
          name,
          arguments: block.arguments ?? {},
          ...(signature && { thoughtSignature: signature }),
        },
      ];
    default:
      return [];
  }
}

export function convertOptions({ max_tokens: maxTokens, temperature, cache, session, ...rest }, api) {
  const options = {
    maxTokens,
    temperature,
    cacheRetention: cache ?? "none", // by default, pi-ai requests a cache
    sessionId: session,
    toolChoice: convertChoice(rest.tool_choice, api),
    ...convertThinking(rest.thinking, api),
  };
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

function convertChoice(choice, api) {
  const required = api.startsWith("openai") ? "required" : "any";
  if (!choice?.name) return choice === "required" ? required : choice;
  if (api === "google-generate") return undefined; // pi-ai cannot name a tool there
  if (api === "openai-chat") return { type: "function", function: { name: choice.name } };
  return { type: api === "openai-responses" ? "function" : "tool", name: choice.name };
}

// A level is a setting of `streamSimple()`, which finds what the model takes; a budget is one of each API.
function convertThinking(thinking, api) {
  if (thinking === undefined) return {};
  if (thinking === "off") return { simple: true };
  const { budget, effort: reasoning = "medium" } = thinking;
  if (!budget) return { simple: true, reasoning };
  switch (api) {
    case "anthropic-messages":
      return { thinkingEnabled: true, thinkingBudgetTokens: budget };
    case "google-generate":
      return { thinking: { enabled: true, budgetTokens: budget } };
    case "bedrock-converse":
      return { reasoning, thinkingBudgets: { [reasoning]: budget } };
    default:
      return { reasoningEffort: reasoning };
  }
}
