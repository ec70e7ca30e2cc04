// Converts LangChain's content blocks and usage to the normal form.

// Returns the blocks in the order of `contentBlocks`, followed by calls that are not in it. `contentBlocks` has the places of
// calls; their values are in `tool_calls` and `invalid_tool_calls`.
export function convertBlocks(message, complete) {
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
    if (!block.type.includes("tool_call") || block.type === "server_tool_call") return convertBlock(block, complete);
    const index = calls.findIndex(({ id }) => id === (block.id ?? null));
    return index < 0 ? [] : calls.splice(index, 1);
  });
  return [...blocks, ...calls];
}

function convertBlock(block, complete) {
  switch (block.type) {
    case "text":
      return block.text
        ? [{ type: "text", text: block.text, ...(block.extras?.phase && { phase: block.extras.phase }) }]
        : [];
    case "refusal":
      return [{ type: "refusal", text: block.refusal }];
    case "reasoning":
      return [{ type: "thinking", text: block.reasoning ?? "", signature: readSignature(block), redacted: false }];
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

function readSignature({ signature, encrypted_content: encrypted, extras }) {
  return signature ?? encrypted ?? extras?.encrypted_content ?? extras?.signature ?? null;
}

export function readUsage({ input_tokens: input, output_tokens: output, ...details }) {
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
