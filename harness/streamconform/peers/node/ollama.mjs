// ollama: `for await (const part of await client.chat({ …, stream: true }))`; the parts are the caller's to join.

import { Ollama } from "ollama";
import { stop, thrown } from "./normal.mjs";
import { serve } from "./protocol.mjs";

const STOP = { stop: "stop", length: "length", null: "stop" }; // older servers give no reason

serve(read);

async function read(run, answer) {
  const client = new Ollama({ host: run.url });
  let last;
  try {
    for await (const part of await client.chat({ ...run.request, stream: true })) {
      last = part;
      const { thinking, content, tool_calls } = part.message ?? {};
      answer.piece("thinking", thinking);
      answer.piece("text", content);
      for (const { id, function: call } of tool_calls ?? []) answer.call({ id, name: call.name, arguments: call.arguments });
      if (part.done) answer.usage(usage(part));
    }
    answer.settle();
    return answer.over({ status: "complete", stop: stop(last.done_reason ?? null, STOP, answer.content), ...rest(last) });
  } catch (error) {
    answer.settle();
    return answer.over({ ...thrown(error, said), ...rest(last) });
  }
}

function rest(last) {
  return { usage: last?.done ? usage(last) : null, model: last?.model ?? null };
}

function usage(part) {
  const { prompt_eval_count: all = null, prompt_eval_cached_count: read = null, eval_count: output = null } = part;
  return { input: all === null ? null : all - (read ?? 0), cache_read: read, output };
}

// An HTTP error is a ResponseError; an error in the stream is a plain Error with the provider's words, and so is the
// library's own word that the end did not come.
function said(error) {
  if (error.name === "ResponseError") return { message: error.message, status: error.status_code };
  if (error.constructor !== Error || error.message.startsWith("Did not receive done")) return null;
  return { message: error.message };
}
