// Converts a conversation to LangChain's messages and tools.

import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { readContent } from "../node/conversation.mjs";

const PROVIDERS = { "anthropic-messages": "anthropic" };

export function convertMessages({ system, messages, model }, api) {
  const converted = messages.flatMap((message) => {
    if (message.role === "user") return [new HumanMessage({ content: convertContent(message.content) })];
    if (message.role === "tool") return message.results.map((result) => convertResult(result, result.id));
    return [convertAnswer(message, message.api ?? api, message.model ?? model)];
  });
  return system === undefined ? converted : [new SystemMessage(system), ...converted];
}

// The caller runs the tools, so they have no function of their own.
export function convertTools(tools) {
  return tools.map(({ name, description = "", parameters }) =>
    tool(() => "", { name, description, schema: parameters }),
  );
}

export function convertResult({ name, content, error }, id) {
  const value = readContent(content);
  const isJSON = value !== content || typeof value !== "string";
  const converted = value === content ? convertContent(content) : isJSON ? JSON.stringify(value) : value;
  return new ToolMessage({ content: converted, tool_call_id: id, name, status: error ? "error" : "success" });
}

function convertContent(content) {
  if (typeof content === "string") return content;
  return content.map(({ type, text, value, media_type: mimeType, data }) =>
    type === "image"
      ? { type, mimeType, data }
      : { type: "text", text: type === "json" ? JSON.stringify(value) : text },
  );
}

// Returns the message that LangChain builds for such an answer, with v1 content blocks.
function convertAnswer({ content, response_id: id }, api, model) {
  const calls = content.filter(({ type, executor }) => type === "tool_call" && executor !== "provider");
  return new AIMessage({
    ...(id && { id }),
    contentBlocks: content.flatMap(convertBlock),
    tool_calls: calls.map(convertCall),
    response_metadata: { output_version: "v1", model_provider: PROVIDERS[api] ?? "openai", model_name: model },
  });
}

function convertBlock(block) {
  const { type, text, signature, redacted } = block;
  if (type === "text" || type === "refusal") return [{ type: "text", text }];
  if (type === "tool_call" && block.executor !== "provider") return [convertCall(block)];
  if (type !== "thinking") return [];
  if (redacted) return [{ type: "non_standard", value: { type: "redacted_thinking", data: signature } }];
  return [{ type: "reasoning", reasoning: text ?? "", ...(signature && { signature }) }];
}

function convertCall({ id, name, arguments: args }) {
  return { type: "tool_call", id, name, args: args ?? {} };
}
