// Converts a conversation to the AI SDK's messages, tools and settings.

import { jsonSchema, Output, tool } from "ai";
import { readContent, readText } from "../node/conversation.mjs";

// The names under which the SDK keeps the providers' own fields, by API.
const PROVIDERS = { "anthropic-messages": "anthropic", "google-generate": "google", "cohere-chat": "cohere" };
const CACHE_CONTROLS = { short: { type: "ephemeral" }, long: { type: "ephemeral", ttl: "1h" } };

const nameProvider = (api) => PROVIDERS[api] ?? "openai";

export function convertMessages(messages, api) {
  return messages.map((message) => {
    if (message.role === "system") return { role: "system", content: message.content };
    if (message.role === "user") return { role: "user", content: convertContent(message.content) };
    if (message.role === "tool") return { role: "tool", content: message.results.map(convertResult) };
    const name = nameProvider(message.api ?? api);
    return { role: "assistant", content: message.content.flatMap((block) => convertBlock(block, name)) };
  });
}

// Returns the tools; `queue` has the results that they return.
export function convertTools({ tools = [] }, queue) {
  const convert = ({ name, description, parameters, strict }) =>
    tool({
      description,
      inputSchema: jsonSchema(parameters),
      strict,
      execute: () => {
        const { content, error } = queue.take(name);
        if (error) throw new Error(readText(content));
        return content;
      },
      toModelOutput: ({ output }) => convertOutput(output),
    });
  return Object.fromEntries(tools.map((declared) => [declared.name, convert(declared)]));
}

export function convertSettings(conversation, api) {
  const { system, cache, tool_choice: choice, output_schema: output, max_tokens, temperature, thinking } = conversation;
  const cacheControl = api === "anthropic-messages" ? CACHE_CONTROLS[cache] : undefined;
  const instructions = cacheControl
    ? { role: "system", content: system, providerOptions: { anthropic: { cacheControl } } }
    : system;
  return dropUndefined({
    instructions: system === undefined ? undefined : instructions,
    toolChoice: choice?.name ? { type: "tool", toolName: choice.name } : choice,
    maxOutputTokens: max_tokens,
    temperature,
    topP: conversation.top_p,
    topK: conversation.top_k,
    seed: conversation.seed,
    presencePenalty: conversation.presence_penalty,
    frequencyPenalty: conversation.frequency_penalty,
    stopSequences: conversation.stop,
    reasoning: thinking === "off" ? "none" : thinking?.effort,
    output: output && Output.object({ schema: jsonSchema(output.schema), name: output.name }),
    providerOptions: { [nameProvider(api)]: convertOptions(conversation, api) },
  });
}

function convertOptions(conversation, api) {
  const { thinking, parallel_tool_calls: parallel, cache, session, output_schema, facts } = conversation;
  const { budget } = thinking ?? {};
  const long = cache === "long" && (facts?.host ?? "api.openai.com") === "api.openai.com";
  switch (api) {
    case "anthropic-messages":
      return dropUndefined({
        thinking: budget && { type: "enabled", budgetTokens: budget },
        disableParallelToolUse: parallel === undefined ? undefined : !parallel,
        metadata: conversation.user && { userId: conversation.user },
      });
    case "google-generate":
      return dropUndefined({
        thinkingConfig: budget && { thinkingBudget: budget, includeThoughts: true },
        serviceTier: conversation.service_tier,
      });
    case "cohere-chat":
      return dropUndefined({ thinking: budget && { type: "enabled", tokenBudget: budget } });
    default:
      return dropUndefined({
        logprobs: conversation.logprobs,
        serviceTier: conversation.service_tier,
        metadata: conversation.metadata,
        user: conversation.user,
        previousResponseId: conversation.previous_response_id,
        parallelToolCalls: parallel,
        promptCacheKey: cache === "none" ? undefined : session,
        promptCacheRetention: long ? "24h" : undefined,
        strictJsonSchema: output_schema?.strict,
        // Nothing is stored on the server, so the SDK requests encrypted reasoning and sends it back.
        store: api === "openai-responses" ? false : undefined,
      });
  }
}

function convertContent(content) {
  return typeof content === "string" ? content : content.map(convertPart);
}

function convertPart({ type, text, value, media_type: mediaType, data, url, title: filename, ...part }) {
  if (type === "text" || type === "json") return { type: "text", text: type === "json" ? JSON.stringify(value) : text };
  const options = part.citations ? { providerOptions: { anthropic: { citations: { enabled: true } } } } : {};
  const file = { type: "file", mediaType, ...(filename && { filename }), ...options };
  if (data) return { ...file, data: { type: "data", data } };
  return {
    ...file,
    data: url ? { type: "url", url: new URL(url) } : { type: "data", data: Buffer.from(text ?? "").toString("base64") },
  };
}

function convertResult({ id: toolCallId, name: toolName, content, error }) {
  const output = error ? { type: "error-text", value: readText(content) } : convertOutput(content);
  return { type: "tool-result", toolCallId, toolName, output };
}

function convertOutput(content) {
  const value = readContent(content);
  if (typeof value === "string") return { type: "text", value };
  return value === content ? { type: "content", value: content.map(convertPart) } : { type: "json", value };
}

// Returns the parts of an answer's block, with the fields that the provider's package would have put there.
function convertBlock(block, name) {
  const { type, text, signature, redacted, id, phase } = block;
  const keep = (fields) => {
    const kept = dropUndefined(fields);
    return Object.keys(kept).length ? { providerOptions: { [name]: kept } } : {};
  };
  const signed = name === "google" && signature ? keep({ thoughtSignature: signature }) : {};
  switch (type) {
    case "text":
    case "refusal": // the SDK has no type of its own for it
      return [{ type: "text", text, ...(name === "openai" ? keep({ phase: phase ?? undefined }) : signed) }];
    case "thinking": {
      const fields = {
        anthropic: redacted ? { redactedData: signature } : { signature: signature ?? undefined },
        openai: { itemId: id, reasoningEncryptedContent: signature },
        google: { thoughtSignature: signature ?? undefined },
        cohere: {},
      };
      return [{ type: "reasoning", text: text ?? "", ...keep(fields[name]) }];
    }
    case "tool_call": {
      const input = block.arguments ?? block.arguments_text;
      return [{ type: "tool-call", toolCallId: id, toolName: block.name, input, ...signed }];
    }
    default:
      return []; // a block of the provider's tools, which only that provider's package can make
  }
}

function dropUndefined(object) {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}
