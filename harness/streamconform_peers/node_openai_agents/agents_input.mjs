// Converts a conversation to the agent that holds it, and to its input items.

import { Agent, assistant, system, tool, user } from "@openai/agents";
import { readContent, readText } from "../node/conversation.mjs";

// Returns the agent; `queue` has the results of its tools, and `isSpoken()` says whether the caller adds messages to them.
export function buildAgent(
  { system, tools = [], output_schema: output, ...conversation },
  api,
  model,
  queue,
  isSpoken,
) {
  return new Agent({
    name: "conform",
    instructions: system,
    model,
    modelSettings: convertSettings(conversation, api),
    tools: tools.map((declared) => convertTool(declared, queue)),
    toolUseBehavior: () =>
      isSpoken()
        ? { isFinalOutput: true, finalOutput: "", isInterrupted: undefined }
        : { isFinalOutput: false, isInterrupted: undefined },
    ...(output && {
      outputType: {
        type: "json_schema",
        name: output.name ?? "answer",
        strict: output.strict ?? false,
        schema: output.schema,
      },
    }),
  });
}

function convertTool({ name, description = "", parameters, strict = false }, queue) {
  const execute = () => {
    const { content, error } = queue.take(name);
    if (error) throw new Error(readText(content));
    const value = readContent(content);
    return value === content && typeof value !== "string" ? value.map(convertOutputPart) : value;
  };
  // By default, the library does not tell the model why a tool failed.
  return tool({ name, description, parameters, strict, execute, errorFunction: (_, error) => error.message });
}

function convertOutputPart({ type, text, value, media_type: mediaType, data }) {
  if (type === "image") return { type: "image", image: { data, mediaType } };
  return { type: "text", text: type === "json" ? JSON.stringify(value) : text };
}

function convertSettings({ temperature, max_tokens, tool_choice: choice, thinking, cache, session, ...rest }, api) {
  const isChat = api === "openai-chat";
  const effort = thinking === "off" ? "none" : thinking?.effort;
  const long = cache === "long" && (rest.facts?.host ?? "api.openai.com") === "api.openai.com";
  const key = cache === "none" || !session ? {} : { prompt_cache_key: session };
  // Nothing is stored on the server, so encrypted reasoning is requested and sent back.
  const include = isChat ? {} : { include: ["reasoning.encrypted_content"] };
  const settings = {
    temperature,
    topP: rest.top_p,
    presencePenalty: rest.presence_penalty,
    frequencyPenalty: rest.frequency_penalty,
    maxTokens: max_tokens,
    toolChoice: choice?.name ?? choice,
    parallelToolCalls: rest.parallel_tool_calls,
    reasoning: effort && { effort },
    promptCacheRetention: long ? "24h" : undefined,
    store: isChat ? undefined : false,
    preserveRawUsage: true,
    providerData: { ...key, ...include, ...pickOwnFields(rest) },
  };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}

// Returns the fields that the library passes on as they are.
function pickOwnFields({ seed, stop, service_tier, metadata, user: id, previous_response_id }) {
  const fields = { seed, stop, service_tier, metadata, user: id, previous_response_id };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

// Returns the items of messages.
export function convertMessages(messages) {
  return messages.flatMap((message) => {
    if (message.role === "system") return [system(message.content)];
    if (message.role === "user") return [user(convertContent(message.content))];
    if (message.role === "tool") return message.results.map(convertResult);
    return message.content.flatMap(convertBlock);
  });
}

function convertContent(content) {
  if (typeof content === "string") return content;
  return content.map(({ type, text, value, media_type: mediaType, data }) =>
    type === "image"
      ? { type: "input_image", image: `data:${mediaType};base64,${data}` }
      : { type: "input_text", text: type === "json" ? JSON.stringify(value) : text },
  );
}

function convertResult({ id: callId, name, content }) {
  const value = readContent(content);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const output = value === content && typeof value !== "string" ? convertContent(content) : { type: "text", text };
  return { type: "function_call_result", name, callId, status: "completed", output };
}

function convertBlock(block) {
  const { type, text, signature, id, name, phase } = block;
  switch (type) {
    case "text":
      return [{ ...assistant(text), ...(phase && { phase }) }];
    case "refusal":
      return [assistant([{ type: "refusal", refusal: text }])];
    case "thinking": {
      const content = text ? [{ type: "input_text", text }] : [];
      return [
        {
          type: "reasoning",
          ...(id && { id }),
          content,
          ...(signature && { providerData: { encrypted_content: signature } }),
        },
      ];
    }
    case "tool_call": {
      const text = block.arguments_text ?? JSON.stringify(block.arguments ?? {});
      return [{ type: "function_call", callId: id, name, status: "completed", arguments: text }];
    }
    default:
      return [];
  }
}
