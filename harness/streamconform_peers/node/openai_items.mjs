// Converts the output items and the usage of a Responses response.

import { parseArguments } from "./normal_form.mjs";

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

export function readUsage(usage) {
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
