// Converts what SDKs return to outcomes in the normal form. An adapter may copy this file, which imports nothing; the adapters of
// this folder use it too.

export const CHAT_STOPS = {
  stop: "stop",
  length: "length",
  tool_calls: "tool_use",
  function_call: "tool_use",
  content_filter: "content_filter",
};
const RESPONSE_STOPS = { completed: "stop", max_output_tokens: "length", content_filter: "content_filter" };
const ANTHROPIC_STOPS = {
  end_turn: "stop",
  stop_sequence: "stop",
  tool_use: "tool_use",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "refusal",
  pause_turn: "pause",
};
// LangChain passes the provider's stop reason on.
const LANGCHAIN_STOPS = { ...CHAT_STOPS, ...RESPONSE_STOPS, ...ANTHROPIC_STOPS };

// Returns the value of a call's arguments: `{}` if the text is blank, null if it is not JSON.
export function parseArguments(text) {
  if (!text?.trim()) return {};
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

// Returns the stop reason, for libraries that pass through the provider's; `reasons` maps the provider's to ours.
export function buildStop(raw, reasons, content) {
  let reason = reasons[raw] ?? "other";
  const calls = content.some((block) => block?.type === "tool_call" && block.complete && block.executor !== "provider");
  if (reason === "stop" && calls) reason = "tool_use";
  if (reason === "stop" && content.at(-1)?.type === "refusal") reason = "refusal";
  return { reason, raw };
}

// Returns the outcome of a `ChatCompletion` that has ended.
export function convertChatCompletion(completion) {
  const [choice] = completion.choices;
  const content = convertChatContent(choice, () => true);
  const { function_call: legacy } = choice?.message ?? {};
  if (legacy) content.push(convertLegacyCall(legacy));
  const stop = choice ? buildStop(choice.finish_reason, CHAT_STOPS, content) : { reason: null, raw: null };
  return { status: choice ? "complete" : "incomplete", stop, ...readChatFields(completion, content) };
}

// Returns the members of an outcome that a completion has, or none if there is no completion.
export function readChatFields(completion, content) {
  return {
    content,
    usage: completion?.usage ? readChatUsage(completion.usage) : null,
    model: completion?.model ?? null,
    response_id: completion?.id ?? null,
  };
}

// Returns the blocks of a choice; `isDone(index)` returns whether a call's arguments have ended.
export function convertChatContent(choice, isDone) {
  const { content, refusal, tool_calls } = choice?.message ?? {};
  const convertCall = ({ id, function: { name, arguments: text } = {} }, index, { length }) => {
    const value = parseArguments(text);
    const cut = ["length", "content_filter"].includes(choice.finish_reason) && index === length - 1 && value === null;
    const complete = isDone(index) && !cut;
    return { type: "tool_call", id, name, arguments: complete ? value : null, arguments_text: text, complete };
  };
  const blocks = [content && { type: "text", text: content }, refusal && { type: "refusal", text: refusal }];
  return [...blocks.filter(Boolean), ...(tool_calls ?? []).filter(Boolean).map(convertCall)];
}

// Returns the call of the deprecated field `function_call`.
export function convertLegacyCall({ name, arguments: text }) {
  return { type: "tool_call", id: null, name, arguments: parseArguments(text), arguments_text: text, complete: true };
}

// Converts usage with OpenAI's field names to disjoint buckets.
export function readChatUsage({ prompt_tokens: input, completion_tokens: output, ...details }) {
  const read = details.prompt_tokens_details?.cached_tokens ?? null;
  const write = details.prompt_tokens_details?.cache_write_tokens ?? null;
  return {
    input: input == null ? null : input - (read ?? 0) - (write ?? 0),
    cache_read: read,
    cache_write: write,
    output: output ?? null,
    reasoning: details.completion_tokens_details?.reasoning_tokens ?? null,
  };
}

// Returns the outcome of a `Response`, which is still `in_progress` for a cut stream; `isDone(index)` returns whether the
// arguments of an item have ended.
export function convertResponse(response, isDone = () => response.status === "completed") {
  const content = (response?.output ?? []).flatMap((item, index) => convertItem(item, isDone(index)));
  const status = { completed: "complete", incomplete: "complete", failed: "error" }[response?.status] ?? "incomplete";
  const raw = status === "incomplete" ? null : (response.incomplete_details?.reason ?? response.status);
  const { code, message } = response?.error ?? {};
  return {
    status,
    stop: buildStop(raw, RESPONSE_STOPS, content),
    error: status === "error" ? { type: code ?? null, message: message ?? null, status: null } : null,
    content,
    usage: response?.usage ? readResponseUsage(response.usage) : null,
    model: response?.model ?? null,
    response_id: response?.id ?? null,
  };
}

// Returns the blocks of an item; `done` says whether its arguments have ended.
export function convertItem(item, done) {
  switch (item.type) {
    case "message":
      return (item.content ?? []).map((part) =>
        part.type === "refusal" ? { type: "refusal", text: part.refusal } : { type: "text", text: part.text ?? "" },
      );
    case "reasoning":
      return [
        { type: "thinking", text: joinThinking(item), signature: item.encrypted_content || null, redacted: false },
      ];
    case "custom_tool_call":
    case "function_call": {
      const complete = Boolean(done) || item.status === "completed";
      if (item.input !== undefined)
        return [
          {
            type: "tool_call",
            id: item.call_id,
            name: item.name,
            arguments: null,
            arguments_text: item.input,
            complete,
          },
        ];
      const { call_id: id, name, arguments: text } = item;
      return [
        {
          type: "tool_call",
          id,
          name,
          arguments: complete ? parseArguments(text) : null,
          arguments_text: text,
          complete,
        },
      ];
    }
    default:
      return [{ type: "other", kind: item.type, data: item }];
  }
}

function joinThinking({ summary, content }) {
  // Joined by an empty line, so that a heading does not run into the sentence before it.
  return (summary?.length ? summary : (content ?? [])).map((part) => part.text).join("\n\n");
}

// Returns the counts of a response.
export function readResponseUsage(usage) {
  const read = usage.input_tokens_details?.cached_tokens ?? null;
  const write = usage.input_tokens_details?.cache_write_tokens ?? null;
  return {
    input: usage.input_tokens == null ? null : usage.input_tokens - (read ?? 0) - (write ?? 0),
    cache_read: read,
    cache_write: write,
    output: usage.output_tokens ?? null,
    reasoning: usage.output_tokens_details?.reasoning_tokens ?? null,
  };
}

// Returns the outcome of Anthropic's `Message`; `isDone(index)` returns whether a block has ended.
export function convertAnthropicMessage(message, isDone = () => true) {
  const content = message.content.map((part, index) => convertAnthropicBlock(part, isDone(index)));
  const stop = buildStop(message.stop_reason, ANTHROPIC_STOPS, content);
  return { status: "complete", stop, ...readAnthropicFields(message, content) };
}

// Returns the members of an outcome that a message has, or none if there is no message.
export function readAnthropicFields(message, content) {
  const { usage, model = null, id = null } = message ?? {};
  return { content, usage: usage ? readAnthropicUsage(usage) : null, model, response_id: id };
}

// Returns the block of a part; `complete` says whether it has ended.
export function convertAnthropicBlock(part, complete) {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "thinking":
      return { type: "thinking", text: part.thinking, signature: part.signature || null, redacted: false };
    case "redacted_thinking":
      return { type: "thinking", text: "", signature: part.data, redacted: true };
    case "tool_use":
    case "server_tool_use":
    case "mcp_tool_use": {
      const executor = part.type === "tool_use" ? "client" : "provider";
      const { id, name } = part;
      const input = complete ? readInput(part) : null;
      return { type: "tool_call", id, name, arguments: input, complete, executor };
    }
    default:
      return { type: "other", kind: part.type, data: part };
  }
}

// `input` is a getter that throws if the text does not parse.
function readInput(part) {
  try {
    return part.input;
  } catch {
    return null;
  }
}

export function readAnthropicUsage(usage) {
  return {
    input: usage.input_tokens ?? null,
    cache_read: usage.cache_read_input_tokens ?? null,
    cache_write: usage.cache_creation_input_tokens ?? null,
    cache_write_1h: usage.cache_creation?.ephemeral_1h_input_tokens ?? null,
    output: usage.output_tokens ?? null,
    reasoning: usage.output_tokens_details?.thinking_tokens ?? null,
    web_searches: usage.server_tool_use?.web_search_requests ?? null,
  };
}

// Returns the outcome of LangChain's `AIMessage`, or of the sum of its chunks.
export function convertLangchainMessage(message) {
  const metadata = message?.response_metadata ?? {};
  const details = metadata.incomplete_details?.reason;
  const raw =
    metadata.finish_reason ??
    metadata.stop_reason ??
    message?.additional_kwargs.stop_reason ??
    details ??
    metadata.status ??
    null;
  const content = message ? convertLangchainBlocks(message, Boolean(raw)) : [];
  const usage = message?.usage_metadata ? readLangchainUsage(message.usage_metadata) : null;
  const id = message?.id?.startsWith("run-") ? null : (message?.id ?? null); // the library's own, if the stream has none
  const fields = {
    content,
    usage,
    model: metadata.model_name ?? metadata.model ?? message?.additional_kwargs.model ?? null,
    response_id: id,
  };
  const stop = raw ? buildStop(raw, LANGCHAIN_STOPS, content) : undefined;
  const status = stop?.reason === "error" ? "error" : raw ? "complete" : "incomplete";
  return { status, stop, ...fields };
}

// Returns the blocks in the order of `contentBlocks`, followed by calls that are not in it. `contentBlocks` has the places of
// calls; their values are in `tool_calls` and `invalid_tool_calls`.
function convertLangchainBlocks(message, complete) {
  const texts = new Map((message.tool_call_chunks ?? []).map(({ id, args }) => [id, args]));
  const calls = [...(message.tool_calls ?? []), ...(message.invalid_tool_calls ?? [])].map((call) => ({
    type: "tool_call",
    id: call.id || null,
    name: call.name,
    arguments: typeof call.args === "string" ? null : call.args,
    ...(texts.has(call.id) && { arguments_text: texts.get(call.id) }),
    complete,
  }));
  const blocks = message.contentBlocks.flatMap((block) => {
    if (!block.type.includes("tool_call") || block.type === "server_tool_call")
      return convertLangchainBlock(block, complete);
    const index = calls.findIndex(({ id }) => id === (block.id ?? null));
    return index < 0 ? [] : calls.splice(index, 1);
  });
  return [...blocks, ...calls];
}

function convertLangchainBlock(block, complete) {
  switch (block.type) {
    case "text":
      return block.text
        ? [{ type: "text", text: block.text, ...(block.extras?.phase && { phase: block.extras.phase }) }]
        : [];
    case "refusal":
      return [{ type: "refusal", text: block.refusal }];
    case "reasoning":
      return [
        { type: "thinking", text: block.reasoning ?? "", signature: readLangchainSignature(block), redacted: false },
      ];
    case "server_tool_call": {
      const { id, name, args } = block;
      return [{ type: "tool_call", id, name, arguments: args, complete, executor: "provider" }];
    }
    case "non_standard":
      if (block.value?.type === "redacted_thinking")
        return [{ type: "thinking", text: "", signature: block.value.data, redacted: true }];
      return [{ type: "other", kind: block.value?.type ?? "non_standard", data: block.value }];
    default:
      return [{ type: "other", kind: block.type, data: block }];
  }
}

function readLangchainSignature({ signature, encrypted_content: encrypted, extras }) {
  return signature ?? encrypted ?? extras?.encrypted_content ?? extras?.signature ?? null;
}

function readLangchainUsage({ input_tokens: input, output_tokens: output, ...details }) {
  const read = details.input_token_details?.cache_read ?? null;
  const write = details.input_token_details?.cache_creation ?? null;
  return {
    input: input == null ? null : input - (read ?? 0) - (write ?? 0),
    cache_read: read,
    cache_write: write,
    output: output ?? null,
    reasoning: details.output_token_details?.reasoning ?? null,
  };
}
