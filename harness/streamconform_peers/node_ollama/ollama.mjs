// Adapter for ollama: `for await (const part of await client.chat({ …, stream: true }))`; callers join the parts.

import { Ollama } from "ollama";
import { buildStop } from "../node/normal.mjs";
import { describeError } from "../node/normal_form.mjs";
import { serve } from "../node/protocol.mjs";

const STOP_REASONS = { stop: "stop", length: "length", null: "stop" }; // older servers send no reason

serve(adapter, ({ url }) => new Ollama({ host: url }));

async function adapter({ client, request }, answer) {
  let last;
  try {
    const parts = await client.chat({ ...request, stream: true });
    answer.control.own = () => parts.abort();
    for await (const part of answer.control.watch(parts)) {
      last = part;
      const { thinking, content, tool_calls } = part.message ?? {};
      answer.addPiece("thinking", thinking);
      answer.addPiece("text", content);
      for (const { id, function: call } of tool_calls ?? [])
        answer.addCall({ id, name: call.name, arguments: call.arguments });
      if (part.done) answer.reportUsage(readUsage(part));
    }
    answer.endOpenBlock();
    const stop = buildStop(last.done_reason ?? null, STOP_REASONS, answer.content);
    return answer.finish({ status: "complete", stop, ...readFields(last) });
  } catch (error) {
    answer.endOpenBlock();
    return answer.finish({ ...describeError(error, readProviderError), ...readFields(last) });
  }
}

function readFields(last) {
  return { usage: last?.done ? readUsage(last) : null, model: last?.model ?? null };
}

function readUsage(part) {
  const { prompt_eval_count: input = null, prompt_eval_cached_count: cached = null, eval_count: output = null } = part;
  return { input: input === null ? null : input - (cached ?? 0), cache_read: cached, output };
}

// An HTTP error is a ResponseError. An error in the stream is a plain Error with the provider's message; the library also
// raises one when the stream ends too early.
function readProviderError(error) {
  if (error.name === "ResponseError") return { message: error.message, status: error.status_code };
  if (error.constructor !== Error || error.message.startsWith("Did not receive done")) return null;
  return { message: error.message };
}
