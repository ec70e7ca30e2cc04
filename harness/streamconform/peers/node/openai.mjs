// openai: `client.chat.completions.stream(…)` and `client.responses.stream(…)`, their events and final values.

import OpenAI from "openai";
import { parsed, SECONDS, stop, thrown } from "./normal.mjs";
import { responses } from "./openai_responses.mjs";
import { serve } from "./protocol.mjs";

const CHAT_STOP = {
  stop: "stop",
  length: "length",
  tool_calls: "tool_use",
  function_call: "tool_use",
  content_filter: "content_filter",
};

serve(read);

async function read(run, answer) {
  const client = new OpenAI({ baseURL: `${run.url}/v1`, apiKey: run.key, maxRetries: 0, timeout: SECONDS * 1000 });
  const { stream: _, ...params } = run.api === "openai-chat" ? { messages: [], ...run.request } : run.request;
  return run.api === "openai-chat" ? chat(client, params, answer) : responses(client, params, answer, said);
}

async function chat(client, params, answer) {
  let snapshot;
  const calls = new Map(); // index of a call to that of its block
  const done = new Set();
  try {
    const stream = client.chat.completions.stream(params);
    stream.on("chunk", (chunk, so_far) => {
      snapshot = so_far;
      if (chunk.usage) answer.usage(chatUsage(chunk.usage));
    });
    stream.on("content.delta", ({ delta }) => answer.piece("text", delta));
    stream.on("refusal.delta", ({ delta }) => answer.piece("refusal", delta));
    stream.on("tool_calls.function.arguments.delta", ({ index, name, arguments_delta }) => {
      if (!calls.has(index)) {
        answer.settle();
        const { id } = snapshot.choices[0].message.tool_calls[index];
        calls.set(index, answer.start({ type: "tool_call", id, name }));
      }
      if (arguments_delta) answer.delta(calls.get(index), arguments_delta);
    });
    stream.on("tool_calls.function.arguments.done", ({ index, arguments: text }) => {
      done.add(index);
      const value = parsed(text); // the end of a malformed call has to wait for the stop reason
      if (value !== null) answer.end(calls.get(index), { arguments: value, arguments_text: text, complete: true });
    });
    const completion = await stream.finalChatCompletion();
    answer.settle();
    const [choice] = completion.choices;
    const content = chatContent(choice, done);
    const { function_call: old } = choice?.message ?? {};
    if (old) {
      const { name, arguments: text } = old;
      content.push({ type: "tool_call", id: "without-id", name, arguments: parsed(text), arguments_text: text, complete: true });
      answer.call(content.at(-1), text);
    }
    content.forEach((block, at) => block.complete && block.arguments === null && answer.end(at, block));
    return answer.over({
      status: choice ? "complete" : "incomplete",
      stop: stop(choice?.finish_reason, CHAT_STOP, content),
      ...rest(completion, content),
    });
  } catch (error) {
    answer.settle();
    const content = chatContent(snapshot?.choices?.[0], done);
    for (const block of content) if (block.arguments === null) block.complete = false;
    return answer.over({ ...thrown(error, said), ...rest(snapshot, content) });
  }
}

function rest(completion, content) {
  return {
    content,
    usage: completion?.usage ? chatUsage(completion.usage) : null,
    model: completion?.model ?? null,
    response_id: completion?.id ?? null,
  };
}

function chatContent(choice, done) {
  const { content, refusal, tool_calls } = choice?.message ?? {};
  const calls = (tool_calls ?? []).filter(Boolean).map(({ id, function: { name, arguments: text } = {} }, i) => {
    const value = parsed(text);
    const cut = ["length", "content_filter"].includes(choice.finish_reason) && i === tool_calls.length - 1 && value === null;
    const complete = done.has(i) && !cut;
    return { type: "tool_call", id, name, arguments: complete ? value : null, arguments_text: text, complete };
  });
  const blocks = [content && { type: "text", text: content }, refusal && { type: "refusal", text: refusal }];
  return [...blocks.filter(Boolean), ...calls];
}

function chatUsage(given) {
  const read = given.prompt_tokens_details?.cached_tokens ?? null;
  const write = given.prompt_tokens_details?.cache_write_tokens ?? null;
  return {
    input: given.prompt_tokens == null ? null : given.prompt_tokens - (read ?? 0) - (write ?? 0),
    cache_read: read,
    cache_write: write,
    output: given.completion_tokens ?? null,
    reasoning: given.completion_tokens_details?.reasoning_tokens ?? null,
  };
}

// What the provider said: an HTTP error, an error in the stream, which has no status, or the event `error` of Responses.
function said(error) {
  if (error?.type === "error") return { type: error.code ?? null, message: error.message };
  if (!(error instanceof OpenAI.APIError) || error instanceof OpenAI.APIConnectionError) return null;
  const type = error.type ?? error.code;
  const message = typeof error.error === "string" ? error.error : (error.error?.message ?? error.message);
  return { type: type == null ? null : String(type), message, status: error.status ?? null };
}
