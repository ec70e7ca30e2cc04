// The items of a response of openai to blocks, and its usage.

import { parsed } from "./normal.mjs";

// The blocks of an item; `done` tells that its arguments have ended.
export function blocks(item, done) {
  switch (item.type) {
    case "message":
      return (item.content ?? []).map((part) =>
        part.type === "refusal" ? { type: "refusal", text: part.refusal } : { type: "text", text: part.text ?? "" },
      );
    case "reasoning":
      return [{ type: "thinking", text: shown(item), signature: item.encrypted_content || null, redacted: false }];
    case "custom_tool_call":
    case "function_call": {
      const complete = Boolean(done) || item.status === "completed";
      if (item.input !== undefined)
        return [{ type: "tool_call", id: item.call_id, name: item.name, arguments: null, arguments_text: item.input, complete }];
      const { call_id: id, name, arguments: text } = item;
      return [{ type: "tool_call", id, name, arguments: complete ? parsed(text) : null, arguments_text: text, complete }];
    }
    default:
      return [{ type: "other", kind: item.type, data: item }];
  }
}

function shown({ summary, content }) {
  return (summary?.length ? summary : (content ?? [])).map((part) => part.text).join("\n\n");
}

export function usage(given) {
  const read = given.input_tokens_details?.cached_tokens ?? null;
  const write = given.input_tokens_details?.cache_write_tokens ?? null;
  return {
    input: given.input_tokens == null ? null : given.input_tokens - (read ?? 0) - (write ?? 0),
    cache_read: read,
    cache_write: write,
    output: given.output_tokens ?? null,
    reasoning: given.output_tokens_details?.reasoning_tokens ?? null,
  };
}
