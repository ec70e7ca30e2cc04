// Adapter for @openai/agents: `getStreamedResponse(…)` of its models, through which `run()` streams. The answer is the output
// of the event `response_done`. The provider's own events, inside `model` events, show the steps, and the answer if it does not
// end.

import { OpenAIChatCompletionsModel, OpenAIResponsesModel } from "@openai/agents";
import OpenAI from "openai";
import { readChunks, readOpenAIUsage } from "../node/chat_pieces.mjs";
import { describeError, parseArguments, readTools, restoreOrder, TIMEOUT_SECONDS } from "../node/normal_form.mjs";
import { readProviderError } from "../node/openai_errors.mjs";
import { convertItem, readUsage } from "../node/openai_items.mjs";
import { buildOutcome, endCalls, handleEvent } from "../node/openai_responses.mjs";
import { serve } from "../node/protocol.mjs";

serve(adapter);

async function adapter(run, answer) {
  const client = new OpenAI({
    baseURL: `${run.url}/v1`,
    apiKey: run.key,
    maxRetries: 0,
    timeout: TIMEOUT_SECONDS * 1000,
  });
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
  };
  const Model = run.api === "openai-chat" ? OpenAIChatCompletionsModel : OpenAIResponsesModel;
  const final = { response: null };
  const events = readModelEvents(new Model(client, run.model).getStreamedResponse(request), final);
  return run.api === "openai-chat" ? readChat(events, final, answer) : readResponse(events, final, answer);
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
      usage: rawUsage ? readOpenAIUsage(rawUsage) : null,
      response_id: id,
    };
  };
  return readChunks(() => events, answer, { readContent, readUsage: readOpenAIUsage, readProviderError, amend });
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
      if (event.type === "error")
        failed = { status: "error", error: { type: event.code ?? null, message: event.message ?? null } };
    }
  } catch (error) {
    failed ??= describeError(error, readProviderError);
  }
  const outcome = buildOutcome(response, indexes);
  if (!final.response) {
    // For a failed response, the library raises a ModelBehaviorError without the provider's error, but the event has it.
    const error = outcome.error ? { error: outcome.error } : {};
    const status = outcome.status === "complete" ? "incomplete" : outcome.status;
    return answer.finish({ ...outcome, status, content: answer.content, ...failed, ...error });
  }
  const { id, output, rawUsage } = final.response;
  const content = output.flatMap((item) => convertOutput(item, outcome.stop.raw));
  endCalls({ ...outcome, content }, indexes, answer);
  return answer.finish({ ...outcome, content, usage: rawUsage ? readUsage(rawUsage) : null, response_id: id });
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
