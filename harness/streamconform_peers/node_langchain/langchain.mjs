// Adapter for @langchain/core and its chat models: `stream(…)` of each model with the chunks added up, and their `contentBlocks`.
// In a conversation, the message and a `ToolMessage` per call are added to the messages, as the guide says.

process.env.LANGSMITH_TRACING = process.env.LANGCHAIN_TRACING_V2 = "false"; // would report every run to a server

import { APIConnectionError, APIError } from "@anthropic-ai/sdk";
import { HumanMessage } from "@langchain/core/messages";
import { matchResults } from "../node/conversation.mjs";
import { convertLangchainMessage } from "../node/normal.mjs";
import { describeError, readTools, TIMEOUT_SECONDS } from "../node/normal_form.mjs";
import { readProviderError as readOpenAIError } from "../node/openai_errors.mjs";
import { serve } from "../node/protocol.mjs";
import { convertMessages, convertResult, convertTools } from "./langchain_messages.mjs";
import { buildModel } from "./langchain_models.mjs";

serve(adapter, buildClient);

function buildClient(run) {
  const tools = run.conversation ? (run.conversation.tools ?? []) : readTools(run.request).map(toTool);
  return buildModel(run, convertTools(tools), run.api);
}

async function adapter(run, answer) {
  const { conversation, api, client: model } = run;
  const messages = conversation ? convertMessages(conversation, api) : [new HumanMessage("Hello.")];
  let { outcome, message } = await ask(model, messages, answer);
  for (const { results, messages: added = [] } of run.turns) {
    if (outcome.status === "error") break;
    const pairs = matchResults(message.tool_calls ?? [], results);
    messages.push(message, ...pairs.map(([call, result]) => convertResult(result, call.id)));
    messages.push(...convertMessages({ messages: added, model: run.model }, api));
    answer.startNext();
    ({ outcome, message } = await ask(model, messages, answer));
  }
  return outcome;
}

function toTool([name, description, parameters]) {
  return { name, description, parameters };
}

async function ask(model, messages, answer) {
  let message;
  let failed = null;
  try {
    const signal = answer.control.withTimeout(TIMEOUT_SECONDS);
    for await (const chunk of answer.control.watch(await model.stream(messages, { signal }))) {
      message = message?.concat(chunk) ?? chunk;
      if (chunk.text || chunk.tool_call_chunks?.some(({ args }) => args)) answer.control.count();
    }
  } catch (error) {
    failed = describeError(error, readProviderError);
  }
  return { message, outcome: answer.finish({ ...convertLangchainMessage(message), ...failed }) };
}

// An error in Anthropic's stream has the provider's body but no status.
function readProviderError(error) {
  if (!(error instanceof APIError) || error instanceof APIConnectionError) return readOpenAIError(error);
  const body = error.error?.error ?? error.error;
  return {
    type: error.type ?? body?.type ?? null,
    message: body?.message ?? error.message,
    status: error.status ?? null,
  };
}
