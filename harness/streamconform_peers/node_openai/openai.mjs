// Adapter for openai: `client.chat.completions.stream(…)` and `client.responses.stream(…)`, with their events and final values,
// and over a WebSocket `finalResponse()` of a lane, with the socket's events.
// In a conversation, `client.chat.completions.runTools(…)` runs the tools; for Responses, the caller adds the output and the
// results to the input, as the guide says.

import OpenAI from "openai";
import { ResponsesWebSocketSession } from "openai/lib/responses/responses-websocket-session";
import { ResponsesWS } from "openai/resources/responses/ws";
import { addTools, countAnswers, matchResults, ResultQueue } from "../node/conversation.mjs";
import {
  buildStop,
  CHAT_STOPS,
  convertChatCompletion,
  convertChatContent,
  convertLegacyCall,
  convertResponse,
  parseArguments,
  readChatFields,
  readChatUsage,
} from "../node/normal.mjs";
import { describeError, restoreOrder, TIMEOUT_SECONDS } from "../node/normal_form.mjs";
import { readErrorEvent, readProviderError } from "../node/openai_errors.mjs";
import { endCalls, findDone, handleEvent, readResponses } from "../node/openai_responses.mjs";
import { serve } from "../node/protocol.mjs";
import { convertChatMessages, convertMessage, convertOutput, makeRunnable } from "./openai_turns.mjs";

const ENDS = ["response.completed", "response.incomplete", "response.failed"];
const lanes = new WeakMap(); // the lane of each socket that is open
const LIMITS = { maxLanes: 4, maxBufferedEvents: 2 ** 20, maxBufferedBytes: 2 ** 30 };

serve(adapter, buildClient);

function buildClient({ url, key, maxRetries }) {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries, timeout: TIMEOUT_SECONDS * 1000 });
}

async function adapter(run, answer) {
  const { client } = run;
  const { stream: _, ...params } = run.api === "openai-chat" ? { messages: [], ...run.request } : run.request;
  if (run.api === "openai-chat")
    return run.turns.length ? runTools(client, params, run, answer) : readChat(client, params, answer);
  if (run.conversation)
    params.tools = addTools(
      params.tools,
      run.conversation,
      ({ name }) => name,
      (tool) => ({ type: "function", ...tool }),
    );
  if (run.transport === "http")
    return converse(run, params, answer, () => readResponses(client, params, answer, readProviderError));
  const socket = new ResponsesWS(client);
  try {
    const { stream_id: name, ...request } = params;
    return await converse(run, request, answer, () => readLane(socket, name, request, answer));
  } finally {
    socket.close();
  }
}

// Reads an answer, and one more for each turn. Over a WebSocket, a client goes on after an answer that failed.
async function converse({ transport, turns }, params, answer, read) {
  let { outcome, response } = await read();
  for (const { results = [], messages = [] } of turns) {
    const failed = outcome.status === "error";
    if (failed && transport === "http") break;
    const output = failed ? [] : response.output;
    const calls = output.filter(({ type }) => type === "function_call");
    const outputs = matchResults(calls, results).map(([call, result]) => convertOutput(call, result));
    const input = typeof params.input === "string" ? [{ role: "user", content: params.input }] : params.input;
    params.input = [...input, ...output, ...outputs, ...messages.map(convertMessage)];
    answer.startNext();
    ({ outcome, response } = await read());
  }
  return outcome;
}

// Reads the response of a lane; the events of the other lanes are not its own.
async function readLane(socket, name, params, answer) {
  const indexes = new Map(); // as in `handleEvent`
  let response;
  let failure; // the last error event
  let ended = false; // what follows is another response
  const ignore = () => {}; // the lane reports errors too
  const handle = (event) => {
    if (event.type === "error") failure = event;
    if (event.stream_id !== name || ended) return;
    ended = ENDS.includes(event.type);
    response = event.response ?? response;
    handleEvent(event, answer, indexes);
  };
  socket.on("error", ignore);
  socket.on("event", handle);
  try {
    if (!lanes.has(socket)) {
      for await (const { type } of socket.stream()) if (type === "open") break;
      lanes.set(socket, new ResponsesWebSocketSession(socket, LIMITS).lane(name));
    }
    const lane = lanes.get(socket);
    lane.create(params);
    response = await lane.finalResponse();
    const outcome = convertResponse(response, findDone(indexes));
    endCalls(outcome, indexes, answer);
    return {
      response,
      outcome: answer.finish(response.status === "failed" ? { ...outcome, content: answer.content } : outcome),
    };
  } catch (error) {
    const read = { ...convertResponse(response, findDone(indexes)), content: answer.content };
    const failed = describeError(error, () => failure && readErrorEvent(failure));
    return { response, outcome: answer.finish({ ...read, ...failed }) };
  } finally {
    socket.off("event", handle);
  }
}

// Sends the conversation and its turns. The runner goes on by itself until an answer has no calls, or the caller adds messages.
async function runTools(client, { tools, messages, ...params }, { conversation, turns }, answer) {
  const queue = new ResultQueue(turns);
  const declared = addTools(
    tools,
    conversation,
    (tool) => tool.function?.name,
    (tool) => ({ type: "function", function: tool }),
  );
  const runnable = declared.map((tool) => makeRunnable(tool, queue));
  let outcome = null;
  for (let [done, history] = [0, messages]; ; ) {
    const planned = done + countAnswers(turns.slice(done));
    const request = { ...params, messages: history, tools: runnable, stream: true };
    const runner = client.chat.completions.runTools(request, { maxChatCompletions: planned - done });
    runner.on("chatCompletion", (completion) => {
      if (outcome) answer.startNext();
      outcome = finishChat(completion, answer);
      done += 1;
    });
    const error = await runner.done().catch((raised) => raised);
    if (error && done < planned) {
      if (outcome) answer.startNext();
      return answer.finish(describeError(error, readProviderError));
    }
    if (error || done < planned || done > turns.length) return outcome;
    history = [...runner.messages, ...convertChatMessages(turns[done - 1].messages ?? [])];
  }
}

// Returns the outcome of a completion that has ended.
function finishChat(completion, answer) {
  return answer.finish(convertChatCompletion(completion));
}

async function readChat(client, params, answer) {
  let snapshot;
  const calls = new Map(); // maps a call's index to its block's index
  const done = new Set();
  try {
    const stream = client.chat.completions.stream(params, { signal: answer.control.signal });
    answer.control.own = () => stream.abort();
    stream.on("chunk", (chunk, current) => {
      snapshot = current;
      if (chunk.usage) answer.reportUsage(readChatUsage(chunk.usage));
    });
    stream.on("content.delta", ({ delta }) => answer.addPiece("text", delta));
    stream.on("refusal.delta", ({ delta }) => answer.addPiece("refusal", delta));
    stream.on("tool_calls.function.arguments.delta", ({ index, name, arguments_delta }) => {
      if (!calls.has(index)) {
        answer.endOpenBlock();
        // The event has no id.
        const { id } = snapshot.choices[0].message.tool_calls[index];
        calls.set(index, answer.startBlock({ type: "tool_call", id, name }));
      }
      if (arguments_delta) answer.addDelta(calls.get(index), arguments_delta);
    });
    stream.on("tool_calls.function.arguments.done", ({ index, arguments: text }) => {
      done.add(index);
      const value = parseArguments(text); // a malformed call ends only when the stop reason is known
      if (value !== null) answer.endBlock(calls.get(index), { arguments: value, arguments_text: text, complete: true });
    });
    await answer.control.readInLoop(stream);
    const completion = await stream.finalChatCompletion();
    answer.endOpenBlock();
    const [choice] = completion.choices;
    const content = restoreOrder(
      convertChatContent(choice, (index) => done.has(index)),
      answer.content,
    );
    const { function_call: legacy } = choice?.message ?? {};
    if (legacy) {
      content.push(convertLegacyCall(legacy));
      answer.addCall(content.at(-1), legacy.arguments);
    }
    for (const [index, block] of content.entries()) {
      if (block.complete && block.arguments === null) answer.endBlock(index, block);
    }
    return answer.finish({
      status: choice ? "complete" : "incomplete",
      stop: buildStop(choice?.finish_reason, CHAT_STOPS, content),
      ...readChatFields(completion, content),
    });
  } catch (error) {
    answer.endOpenBlock();
    const content = restoreOrder(
      convertChatContent(snapshot?.choices?.[0], (index) => done.has(index)),
      answer.content,
    );
    for (const block of content) if (block.arguments === null) block.complete = false;
    return answer.finish({ ...describeError(error, readProviderError), ...readChatFields(snapshot, content) });
  }
}
