// The Responses part of openai: `client.responses.stream(…)`, its events, and `finalResponse()`.

import { parsed, stop, thrown } from "./normal.mjs";
import { blocks, usage } from "./openai_items.mjs";

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
    const made = outcome(await stream.finalResponse(), at);
    settle(made, at, answer);
    return answer.over(made);
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

// Ends the calls whose text does not parse; the last one of an answer that was broken off is not complete.
function settle({ content, status, stop: { reason } }, at, answer) {
  const cut = reason === "length" || reason === "content_filter";
  for (const block of content.filter(({ id }) => at.has(`${id} held`))) {
    block.complete = status === "complete" && !(cut && block === content.at(-1));
    if (block.complete) answer.end(at.get(`${block.id} held`), block);
  }
}

// Ends a call once; the end of one that does not parse has to wait for the reason.
function close(item, final, at, answer) {
  const block = answer.content[at.get(item)];
  if (!block || at.has(`${item} done`)) return;
  at.set(`${item} done`, true);
  if (final.arguments === null) at.set(`${block.id} held`, at.get(item));
  else answer.end(at.get(item), final);
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
      close(item, { arguments: parsed(event.arguments), arguments_text: event.arguments, complete: true }, at, answer);
      break;
    case "response.output_item.done":
      if (event.item.type === "function_call") close(item, blocks(event.item, true)[0], at, answer);
      else if (event.item.type !== "message") answer.end(at.get(item), blocks(event.item)[0]);
      break;
    case "response.completed":
    case "response.incomplete":
    case "response.failed":
      if (event.response.usage) answer.usage(usage(event.response.usage));
  }
}
