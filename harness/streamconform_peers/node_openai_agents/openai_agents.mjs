// Adapter for @openai/agents: `getStreamedResponse(…)` of its models, through which `run()` streams, and for conversations
// `run()` itself. The answer is the output of the event `response_done`. The provider's own events, inside `model` events, show
// the steps, and the answer if it does not end.

import {
  MaxTurnsExceededError,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  OpenAIResponsesWSModel,
  Runner,
} from "@openai/agents";
import OpenAI from "openai";
import { readChunks } from "../node/chat_pieces.mjs";
import { isOfCaller, ResultQueue } from "../node/conversation.mjs";
import { convertItem, convertResponse, parseArguments, readChatUsage, readResponseUsage } from "../node/normal.mjs";
import { describeError, readTools, restoreOrder, TIMEOUT_SECONDS } from "../node/normal_form.mjs";
import { readErrorEvent, readProviderError } from "../node/openai_errors.mjs";
import { endCalls, findDone, handleEvent } from "../node/openai_responses.mjs";
import { serve } from "../node/protocol.mjs";
import { buildAgent, convertMessages } from "./agents_input.mjs";

serve(adapter, buildModel);

function buildModel({ api, url, key, model, transport, maxRetries }) {
  const OfResponses = transport === "websocket" ? OpenAIResponsesWSModel : OpenAIResponsesModel;
  const Model = api === "openai-chat" ? OpenAIChatCompletionsModel : OfResponses;
  const timeout = TIMEOUT_SECONDS * 1000;
  return new Model(new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries, timeout }), model);
}

async function adapter(run, answer) {
  const { client: model } = run;
  if (run.conversation) return converse(run, model, answer);
  const tools = readTools(run.request).map(([name, description, parameters]) => ({
    type: "function",
    name,
    description,
    parameters,
    strict: false,
  }));
  const request = {
    input: "Hello.",
    modelSettings: { preserveRawUsage: true },
    tools,
    outputType: "text",
    handoffs: [],
    tracing: false,
    signal: answer.control.signal,
  };
  return readAnswer(run.api, answer.control.watch(model.getStreamedResponse(request)), answer);
}

// Sends the conversation and its turns. The library goes on by itself until an answer has no calls, or the caller adds messages.
// Over a WebSocket, a client goes on after an answer that failed.
async function converse({ conversation, turns, api, transport }, model, answer) {
  let done = 0;
  const agent = buildAgent(conversation, api, model, new ResultQueue(turns), () => isOfCaller(turns[done - 1]));
  const runner = new Runner({ tracingDisabled: true });
  let input = convertMessages(conversation.messages);
  if (conversation.stream === false) return readText(await runner.run(agent, input), answer);
  for (let outcome = null; ; ) {
    const before = done;
    const result = await runner.run(agent, input, { stream: true, maxTurns: turns.length + 1 });
    const events = skipRunEvents(result);
    try {
      for (let first = await events.next(); !first.done; first = await events.next()) {
        if (outcome) answer.startNext();
        done += 1;
        outcome = await readAnswer(api, takeAnswer(first.value, events, api), answer);
      }
      await result.completed;
    } catch (error) {
      // The caller ends the conversation at an answer, even if that has calls.
      if (error instanceof MaxTurnsExceededError) return outcome;
      if (done === before || outcome.status !== "error") {
        answer.startNext();
        done += 1;
        outcome = answer.finish(describeError(error, readProviderError));
      }
      if (transport === "http" || done > turns.length) return outcome;
      input = result.history;
      continue;
    }
    const turn = turns[done - 1];
    if (!turn || !isOfCaller(turn)) return outcome;
    input = [...result.history, ...convertMessages(turn.messages ?? [])];
  }
}

// Reads an answer that was not streamed; only the request is judged.
function readText({ finalOutput }, answer) {
  answer.addPiece("text", finalOutput);
  return answer.finish({ status: "complete", stop: { reason: "stop", raw: null } });
}

// Yields the events of the models.
async function* skipRunEvents(result) {
  for await (const { type, data } of result) if (type === "raw_model_stream_event") yield data;
}

// Yields the events of one answer, the first of which has been read. Of Responses, the provider's last event follows
// `response_done`.
async function* takeAnswer(first, events, api) {
  let isDone = false;
  for (let value = first; ; ) {
    yield value;
    if (isDone || (value.type === "response_done" && api === "openai-chat")) return;
    isDone = value.type === "response_done";
    const next = await events.next();
    if (next.done) return;
    value = next.value;
  }
}

function readAnswer(api, all, answer) {
  const final = { response: null };
  const events = readModelEvents(all, final);
  return api === "openai-chat" ? readChat(events, final, answer) : readResponse(events, final, answer);
}

async function* readModelEvents(events, final) {
  for await (const { type, event, response } of events) {
    if (type === "response_done") final.response = response;
    if (type === "model") yield event;
  }
}

function readChat(events, final, answer) {
  const amend = (outcome) => {
    if (!final.response) return outcome;
    const { id, output, rawUsage } = final.response;
    const { stop = { reason: "stop", raw: null } } = outcome;
    const content = restoreOrder(
      output.flatMap((item) => convertOutput(item, stop.raw)),
      answer.content,
    );
    return {
      ...outcome,
      status: "complete",
      stop,
      content,
      usage: rawUsage ? readChatUsage(rawUsage) : null,
      response_id: id,
    };
  };
  return readChunks(() => events, answer, { readContent, readUsage: readChatUsage, readProviderError, amend });
}

function readContent({ content, reasoning, refusal }) {
  return [
    ["thinking", reasoning],
    ["text", content],
    ["refusal", refusal],
  ];
}

async function readResponse(events, final, answer) {
  const indexes = new Map(); // as in `handleEvent`
  let [response, failed] = [undefined, null];
  try {
    for await (const event of events) {
      response = event.response ?? response;
      handleEvent(event, answer, indexes);
      if (event.type === "error") failed = { status: "error", error: readErrorEvent(event) };
    }
  } catch (error) {
    failed ??= describeError(error, readProviderError);
  }
  const outcome = convertResponse(response, findDone(indexes));
  if (!final.response) {
    // For a failed response, the library raises a ModelBehaviorError without the provider's error, but the event has it.
    const error = outcome.error ? { error: outcome.error } : {};
    const status = outcome.status === "complete" ? "incomplete" : outcome.status;
    return answer.finish({ ...outcome, status, content: answer.content, ...failed, ...error });
  }
  const { id, output, rawUsage } = final.response;
  const content = output.flatMap((item) => convertOutput(item, outcome.stop.raw));
  endCalls({ ...outcome, content }, indexes, answer);
  return answer.finish({ ...outcome, content, usage: rawUsage ? readResponseUsage(rawUsage) : null, response_id: id });
}

// Returns the blocks of an item in the library's output; `raw` is the provider's stop reason.
function convertOutput(item, raw) {
  const { type, content = [], rawContent = [], providerData } = item;
  switch (type) {
    case "message":
      return content.map(({ text, refusal }) =>
        refusal === undefined ? { type: "text", text } : { type: "refusal", text: refusal },
      );
    case "reasoning": {
      const text = (content.length ? content : rawContent).map((part) => part.text).join("\n\n");
      return [{ type: "thinking", text, signature: providerData?.encrypted_content ?? null, redacted: false }];
    }
    case "function_call": {
      const value = parseArguments(item.arguments);
      const complete = value !== null || !["length", "content_filter"].includes(raw);
      return [
        {
          type: "tool_call",
          id: item.callId || null,
          name: item.name,
          arguments: value,
          arguments_text: item.arguments,
          complete,
        },
      ];
    }
    case "unknown": // the data is the provider's item
      return convertItem(providerData, true);
    default:
      return [{ type: "other", kind: item.name ?? type, data: item }];
  }
}
