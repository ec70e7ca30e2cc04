// The Responses part of openai: `client.responses.stream(…)`, its events, and `finalResponse()`.

import { parsed, stop, thrown } from "./normal.mjs";

const STOP = { completed: "stop", max_output_tokens: "length", content_filter: "content_filter" };

export async function responses(client, params, answer, said) {
  const at = new Map(); // item, or item and part, to the index of its block
  let seen;
  try {
    const stream = client.responses.stream(params);
    stream.on("event", (event) => {
      seen = event.response ?? seen;
      tell(event, answer, at);
    });
    return answer.over(outcome(await stream.finalResponse(), at));
  } catch (error) {
    return answer.over({ ...outcome(seen, at), content: answer.content, ...thrown(error, said) });
  }
}

// A response that is `in_progress` is what the library gives for a stream that was cut.
function outcome(response, at) {
  const content = (response?.output ?? []).flatMap((item, i) => blocks(item, at.get(`${i} done`)));
  const status = { completed: "complete", incomplete: "complete", failed: "error" }[response?.status] ?? "incomplete";
  const raw = response?.incomplete_details?.reason ?? response?.status ?? null;
  const { code, message } = response?.error ?? {};
  return {
    status,
    stop: stop(raw, STOP, content),
    error: status === "error" ? { type: code ?? null, message: message ?? null, status: null } : null,
    content,
    usage: response?.usage ? usage(response.usage) : null,
    model: response?.model ?? null,
    response_id: response?.id ?? null,
  };
}

// The blocks of an item; `done` tells that its arguments have ended.
function blocks(item, done) {
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

function usage(given) {
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

function tell(event, answer, at) {
  const item = event.output_index;
  const part = `${item}.${event.content_index}`;
  switch (event.type) {
    case "response.output_item.added":
      if (event.item.type !== "message") at.set(item, answer.start({ ...blocks(event.item)[0], text: "", arguments_text: null }));
      break;
    case "response.content_part.added":
      if (!at.has(item)) at.set(part, answer.start({ type: event.part.type === "refusal" ? "refusal" : "text" }));
      break;
    case "response.output_text.delta":
    case "response.refusal.delta":
      answer.delta(at.get(part), event.delta);
      break;
    case "response.content_part.done":
      answer.end(at.get(part));
      break;
    case "response.reasoning_summary_part.added":
      if (event.summary_index > 0) answer.delta(at.get(item), "\n\n");
      break;
    case "response.reasoning_summary_text.delta":
    case "response.reasoning_text.delta":
    case "response.function_call_arguments.delta":
    case "response.custom_tool_call_input.delta":
      answer.delta(at.get(item), event.delta);
      break;
    case "response.function_call_arguments.done":
      at.set(`${item} done`, true);
      break;
    case "response.output_item.done":
      if (event.item.type !== "message") answer.end(at.get(item), blocks(event.item)[0]);
      break;
    case "response.completed":
    case "response.incomplete":
    case "response.failed":
      if (event.response.usage) answer.usage(usage(event.response.usage));
  }
}
