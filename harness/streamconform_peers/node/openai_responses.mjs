// Responses through openai: `client.responses.stream(…)` with its events, and `finalResponse()`, which is the response.

import { convertItem, convertResponse, parseArguments, readResponseUsage } from "./normal.mjs";
import { describeError } from "./normal_form.mjs";

export async function readResponses(client, params, answer, readProviderError) {
  const indexes = new Map(); // maps an item, or an item and a part, to the index of its block
  let response;
  try {
    const stream = client.responses.stream(params, { signal: answer.control.signal });
    answer.control.own = () => stream.abort();
    stream.on("event", (event) => {
      response = event.response ?? response;
      handleEvent(event, answer, indexes);
    });
    await answer.control.readInLoop(stream);
    response = await stream.finalResponse();
    const outcome = convertResponse(response, findDone(indexes));
    endCalls(outcome, indexes, answer);
    return { response, outcome: answer.finish(outcome) };
  } catch (error) {
    const read = { ...convertResponse(response, findDone(indexes)), content: answer.content };
    return { response, outcome: answer.finish({ ...read, ...describeError(error, readProviderError) }) };
  }
}

// Returns the function that tells whether the arguments of an item have ended.
export function findDone(indexes) {
  return (index) => indexes.get(`${index} done`);
}

// Ends the calls whose text does not parse. Whether the last one is complete depends on the stop reason.
export function endCalls({ content, status, stop: { reason } }, indexes, answer) {
  const cut = reason === "length" || reason === "content_filter";
  for (const block of content.filter(({ id }) => indexes.has(`${id} held`))) {
    block.complete = status === "complete" && !(cut && block === content.at(-1));
    if (block.complete) answer.endBlock(indexes.get(`${block.id} held`), block);
  }
}

// Ends a call once. A call whose text does not parse is held until the stop reason is known.
function endCall(item, final, indexes, answer) {
  const block = answer.content[indexes.get(item)];
  if (!block || indexes.has(`${item} done`)) return;
  indexes.set(`${item} done`, true);
  if (final.arguments === null) indexes.set(`${block.id} held`, indexes.get(item));
  else answer.endBlock(indexes.get(item), final);
}

export function handleEvent(event, answer, indexes) {
  const item = event.output_index;
  const part = `${item}.${event.content_index}`;
  switch (event.type) {
    case "response.output_item.added":
      if (event.item.type === "message") break; // its parts start their own blocks
      indexes.set(item, answer.startBlock({ ...convertItem(event.item)[0], text: "", arguments_text: null }));
      break;
    case "response.content_part.added":
      if (!indexes.has(item))
        indexes.set(part, answer.startBlock({ type: event.part.type === "refusal" ? "refusal" : "text" }));
      break;
    case "response.output_text.delta":
    case "response.refusal.delta":
      answer.addDelta(indexes.get(part), event.delta);
      break;
    case "response.content_part.done":
      answer.endBlock(indexes.get(part));
      break;
    case "response.reasoning_summary_part.added":
      if (event.summary_index > 0) answer.addDelta(indexes.get(item), "\n\n");
      break;
    case "response.reasoning_summary_text.delta":
    case "response.reasoning_text.delta":
    case "response.function_call_arguments.delta":
    case "response.custom_tool_call_input.delta":
      answer.addDelta(indexes.get(item), event.delta);
      break;
    case "response.function_call_arguments.done":
      endCall(
        item,
        { arguments: parseArguments(event.arguments), arguments_text: event.arguments, complete: true },
        indexes,
        answer,
      );
      break;
    case "response.output_item.done":
      if (event.item.type === "function_call") endCall(item, convertItem(event.item, true)[0], indexes, answer);
      else if (event.item.type !== "message") answer.endBlock(indexes.get(item), convertItem(event.item)[0]);
      break;
    case "response.completed":
    case "response.incomplete":
    case "response.failed":
      if (event.response.usage) answer.reportUsage(readResponseUsage(event.response.usage));
  }
}
