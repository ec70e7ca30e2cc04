// Adapter for cohere-ai: `for await (const event of await client.chatStream(…))` of CohereClientV2 or, depending on the
// request, of CohereClient for v1. Events of v2 are joined as shown in Cohere's guide to streaming; `cohere_v1.mjs` reads those
// of v1.

import { CohereClient, CohereClientV2, CohereError } from "cohere-ai";
import { parseArguments } from "../node/normal.mjs";
import { describeError, readTools, TIMEOUT_SECONDS } from "../node/normal_form.mjs";
import { serve } from "../node/protocol.mjs";
import { finishAnswer, readUsage, readV1Calls, readV1Event } from "./cohere_v1.mjs";

const isForV1 = ({ request }) => !request.messages;

serve(adapter, (run) => new (isForV1(run) ? CohereClient : CohereClientV2)({ token: run.key, environment: run.url }));

async function adapter(run, answer) {
  const isV1 = isForV1(run);
  const state = { calls: new Map(), end: null, usage: null, id: null };
  let failed = null;
  try {
    const events = await run.client.chatStream(buildRequest(run, isV1), {
      maxRetries: run.maxRetries,
      timeoutInSeconds: TIMEOUT_SECONDS,
      abortSignal: answer.control.signal,
    });
    for await (const event of answer.control.watch(events)) (isV1 ? readV1Event : readEvent)(event, answer, state);
  } catch (error) {
    failed = describeError(error, readProviderError);
  }
  answer.endOpenBlock();
  if (isV1) readV1Calls(answer, state);
  return finishAnswer(answer, state, failed);
}

function buildRequest({ request, model }, isV1) {
  const tools = readTools(request);
  if (isV1) {
    const declared = tools.map(([name, description]) => ({ name, description, parameterDefinitions: {} }));
    return { model, message: "Hello.", ...(tools.length && { tools: declared }) };
  }
  const declared = tools.map(([name, description, parameters]) => ({
    type: "function",
    function: { name, description, parameters },
  }));
  return { model, messages: [{ role: "user", content: "Hello." }], ...(tools.length && { tools: declared }) };
}

function readEvent(event, answer, state) {
  const { type, index, delta } = event;
  const { content, toolPlan, toolCalls: call } = delta?.message ?? {};
  switch (type) {
    case "message-start":
      state.id = event.id ?? null;
      break;
    case "content-start":
    case "content-delta":
      answer.addPiece("thinking", content?.thinking);
      answer.addPiece("text", content?.text);
      break;
    case "tool-plan-delta":
      answer.addPiece("thinking", toolPlan);
      break;
    case "tool-call-start":
      answer.endOpenBlock();
      state.calls.set(
        index,
        answer.startBlock({ type: "tool_call", id: call?.id ?? null, name: call?.function?.name ?? null }),
      );
      if (call?.function?.arguments) answer.addDelta(state.calls.get(index), call.function.arguments);
      break;
    case "tool-call-delta":
      if (call?.function?.arguments) answer.addDelta(state.calls.get(index), call.function.arguments);
      break;
    case "tool-call-end": {
      const text = answer.content[state.calls.get(index)]?.arguments_text;
      answer.endBlock(state.calls.get(index), { arguments: parseArguments(text), complete: true });
      break;
    }
    case "message-end":
      state.end = delta ?? {};
      if (delta?.usage) {
        state.usage = readUsage(delta.usage);
        answer.reportUsage(state.usage);
      }
      break;
  }
}

// A CohereError without a status means a failed connection.
function readProviderError(error) {
  if (!(error instanceof CohereError) || error.statusCode === undefined) return null;
  const { body, statusCode: status } = error;
  return { type: null, message: body?.message ?? (typeof body === "string" && body ? body : error.message), status };
}
