// @anthropic-ai/sdk: `client.messages.stream(…)`, its events, and `finalMessage()`.

import Anthropic from "@anthropic-ai/sdk";
import { SECONDS, stop, thrown } from "./normal.mjs";
import { serve } from "./protocol.mjs";

const STOP = { end_turn: "stop", stop_sequence: "stop", tool_use: "tool_use", refusal: "refusal", pause_turn: "pause" };
Object.assign(STOP, { max_tokens: "length", model_context_window_exceeded: "length" });

const DELTAS = { text_delta: "text", thinking_delta: "thinking", input_json_delta: "partial_json" };

serve(read);

async function read(run, answer) {
  const client = new Anthropic({ baseURL: run.url, apiKey: run.key, maxRetries: 0, timeout: SECONDS * 1000 });
  const { stream: _, ...params } = { messages: [], ...run.request }; // it goes through them before it asks
  const ended = new Set();
  let snapshot;
  try {
    const { messages } = params.mcp_servers ? client.beta : client; // MCP is documented for the beta resource
    const stream = messages.stream(params);
    stream.on("streamEvent", (event, message) => {
      snapshot = message;
      tell(event, message, answer, ended);
    });
    const message = await stream.finalMessage();
    const content = message.content.map((part, i) => block(part, ended.has(i)));
    return answer.over({ status: "complete", stop: stop(message.stop_reason, STOP, content), ...rest(message, content) });
  } catch (error) {
    const content = (snapshot?.content ?? []).map((part, i) => block(part, ended.has(i)));
    return answer.over({ ...thrown(error, said), ...rest(snapshot, content) });
  }
}

function rest(message, content) {
  const { usage: counts, model = null, id = null } = message ?? {};
  return { content, usage: counts ? usage(counts) : null, model, response_id: id };
}

// An APIError of the stream itself has no status, but the provider's body.
function said(error) {
  if (!(error instanceof Anthropic.APIError) || error instanceof Anthropic.APIConnectionError) return null;
  const body = error.error?.error ?? error.error;
  return { type: error.type ?? body?.type ?? null, message: body?.message ?? error.message, status: error.status ?? null };
}

function tell(event, message, answer, ended) {
  switch (event.type) {
    case "message_start":
    case "message_delta":
      if (message.usage) answer.usage(usage(message.usage));
      break;
    case "content_block_start": {
      const at = message.content.length - 1;
      const { text, thinking } = event.content_block;
      answer.start({ ...block(event.content_block, false), text: "" }, at);
      if (text || thinking) answer.delta(at, text || thinking);
      break;
    }
    case "content_block_delta": {
      const field = DELTAS[event.delta.type];
      if (field) answer.delta(event.index, event.delta[field]);
      break;
    }
    case "content_block_stop":
      ended.add(event.index);
      if (message.content.at(event.index)) answer.end(event.index, block(message.content.at(event.index), true));
      break;
  }
}

function block(part, complete) {
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
      const input = complete ? value(part) : null;
      return { type: "tool_call", id, name, arguments: input, arguments_text: null, complete, executor };
    }
    default:
      return { type: "other", kind: part.type, data: part };
  }
}

// `input` is a getter that throws where the text does not parse.
function value(part) {
  try {
    return part.input;
  } catch {
    return null;
  }
}

function usage(given) {
  return {
    input: given.input_tokens ?? null,
    cache_read: given.cache_read_input_tokens ?? null,
    cache_write: given.cache_creation_input_tokens ?? null,
    cache_write_1h: given.cache_creation?.ephemeral_1h_input_tokens ?? null,
    output: given.output_tokens ?? null,
    reasoning: given.output_tokens_details?.thinking_tokens ?? null,
    web_searches: given.server_tool_use?.web_search_requests ?? null,
  };
}
