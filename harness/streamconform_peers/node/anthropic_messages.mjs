// Anthropic's Messages through the clients of @anthropic-ai/sdk and the packages built on it: `client.messages.stream(…)`, its
// events, and `finalMessage()`. In a conversation, `client.beta.messages.toolRunner(…)` returns such a stream for each answer.

import Anthropic from "@anthropic-ai/sdk";
import { ToolError } from "@anthropic-ai/sdk/lib/tools/ToolError.mjs";
import { addTools, ResultQueue } from "./conversation.mjs";
import { convertAnthropicBlock, convertAnthropicMessage, readAnthropicFields, readAnthropicUsage } from "./normal.mjs";
import { describeError } from "./normal_form.mjs";
import { serve } from "./protocol.mjs";

const DELTA_FIELDS = { text_delta: "text", thinking_delta: "thinking", input_json_delta: "partial_json" };

// Serves the library whose client `buildClient(run)` returns; `readError` is passed to `describeError`.
export function serveMessages(buildClient, readError = readProviderError) {
  serve((run, answer) => readMessage(run.client, run, answer, readError), buildClient);
}

async function readMessage(client, run, answer, readError) {
  const { stream: _, ...params } = { model: run.model, messages: [], ...run.request }; // the SDK reads both before it sends the request
  if (run.turns.length) return converse(client, params, run, answer, readError);
  const { messages } = params.mcp_servers ? client.beta : client; // MCP servers are documented only for the beta resource
  const { signal } = answer.control;
  return readStream(() => messages.stream(params, { signal }), answer, readError);
}

// Sends the conversation and its turns. The runner goes on by itself until an answer has no calls; the caller's messages follow
// the results.
async function converse(client, params, { conversation, turns }, answer, readError) {
  const queue = new ResultQueue(turns);
  const convert = ({ parameters: input_schema, strict, ...tool }) => ({ ...tool, input_schema });
  const declared = addTools(params.tools, conversation, ({ name }) => name, convert);
  const tools = declared.map((tool) => (isRunnable(tool) ? makeRunnable(tool, queue) : tool));
  // Without a thread, which would leave the history to the server.
  const limits = { stream: true, thread: false, max_iterations: turns.length + 1 };
  const runner = client.beta.messages.toolRunner({ ...params, tools, ...limits });
  let [outcome, done] = [null, 0];
  try {
    for await (const stream of runner) {
      if (outcome) answer.startNext();
      outcome = await readStream(() => stream, answer, readError);
      if (outcome.status === "error") return outcome;
      const { messages } = turns[done] ?? {};
      done += 1;
      if (!messages) continue;
      const { role, content } = await stream.finalMessage();
      const results = await runner.generateToolResponse();
      runner.pushMessages({ role, content }, ...(results ? [results] : []), ...messages.map(convertMessage));
    }
    return outcome;
  } catch (error) {
    answer.startNext();
    return answer.finish(describeError(error, readError));
  }
}

// Returns whether the caller runs a tool: the provider's own have a type with a date.
function isRunnable({ type = "custom" }) {
  return type === "custom";
}

function makeRunnable(tool, queue) {
  const run = () => {
    const { content, error } = queue.take(tool.name);
    const converted = typeof content === "string" ? content : content.map(convertPart);
    if (error) throw new ToolError(converted);
    return converted;
  };
  return { ...tool, run, parse: (input) => input };
}

// Returns a message of the caller, whose form differs from the API's only in images.
function convertMessage({ role, content }) {
  return { role, content: typeof content === "string" ? content : content.map(convertPart) };
}

function convertPart({ type, text, value, media_type, data }) {
  if (type === "image") return { type, source: { type: "base64", media_type, data } };
  return { type: "text", text: type === "json" ? JSON.stringify(value) : text };
}

async function readStream(open, answer, readError) {
  const ended = new Set();
  let snapshot;
  try {
    const stream = open();
    answer.control.own = () => stream.abort();
    stream.on("streamEvent", (event, message) => {
      snapshot = message;
      handleEvent(event, message, answer, ended);
    });
    await answer.control.readInLoop(stream);
    const message = await stream.finalMessage();
    return answer.finish(convertAnthropicMessage(message, (index) => ended.has(index)));
  } catch (error) {
    const content = (snapshot?.content ?? []).map((part, index) => convertAnthropicBlock(part, ended.has(index)));
    return answer.finish({ ...describeError(error, readError), ...readAnthropicFields(snapshot, content) });
  }
}

// An APIError from the stream has the provider's body but no status.
export function readProviderError(error) {
  if (!(error instanceof Anthropic.APIError) || error instanceof Anthropic.APIConnectionError) return null;
  const body = error.error?.error ?? error.error;
  return {
    type: error.type ?? body?.type ?? null,
    message: body?.message ?? error.message,
    status: error.status ?? null,
  };
}

function handleEvent(event, message, answer, ended) {
  switch (event.type) {
    case "message_start":
    case "message_delta":
      if (message.usage) answer.reportUsage(readAnthropicUsage(message.usage));
      break;
    case "content_block_start": {
      // The library appends each block that starts, whatever its index in the event.
      const index = message.content.length - 1;
      const { text, thinking } = event.content_block;
      answer.startBlock({ ...convertAnthropicBlock(event.content_block, false), text: "" }, index);
      if (text || thinking) answer.addDelta(index, text || thinking);
      break;
    }
    case "content_block_delta": {
      const field = DELTA_FIELDS[event.delta.type];
      if (field) answer.addDelta(event.index, event.delta[field]);
      break;
    }
    case "content_block_stop":
      ended.add(event.index);
      if (message.content.at(event.index))
        answer.endBlock(event.index, convertAnthropicBlock(message.content.at(event.index), true));
      break;
  }
}
