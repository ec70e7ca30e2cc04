// Adapter for @aws-sdk/client-bedrock-runtime: `for await (const event of (await client.send(new
// ConverseStreamCommand(…))).stream)`; callers join the events by block index.

import {
  BedrockRuntimeClient,
  BedrockRuntimeServiceException,
  ConverseStreamCommand,
} from "@aws-sdk/client-bedrock-runtime";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { readRejected } from "../node/aws_errors.mjs";
import { buildStop, parseArguments } from "../node/normal.mjs";
import { describeError, TIMEOUT_SECONDS } from "../node/normal_form.mjs";
import { serve } from "../node/protocol.mjs";

const STOP_REASONS = { end_turn: "stop", stop_sequence: "stop", tool_use: "tool_use" };
Object.assign(STOP_REASONS, { max_tokens: "length", model_context_window_exceeded: "length" });
Object.assign(STOP_REASONS, { content_filtered: "content_filter", guardrail_intervened: "content_filter" });
Object.assign(STOP_REASONS, { malformed_model_output: "error", malformed_tool_use: "error" });

// The replay server speaks only HTTP/1.1. Clients that share their connections need not be destroyed, which would close what
// the library leaves open.
const requestHandler = new NodeHttpHandler({
  requestTimeout: TIMEOUT_SECONDS * 1000,
  socketTimeout: TIMEOUT_SECONDS * 1000,
});

serve(adapter, buildClient);

function buildClient({ url, key, maxRetries }) {
  return new BedrockRuntimeClient({
    endpoint: url,
    region: "us-east-1",
    credentials: { accessKeyId: key, secretAccessKey: key }, // the SDK signs requests
    ...(maxRetries === 0 && { maxAttempts: 1 }),
    requestHandler,
  });
}

async function adapter(run, answer) {
  const blocks = new Map(); // maps the library's index of a block to its index here
  let [raw, failed] = [null, null];
  const fields = { usage: null, response_id: null };
  try {
    const command = new ConverseStreamCommand({ ...run.request, modelId: run.model });
    const response = await run.client.send(command, { abortSignal: answer.control.signal });
    fields.response_id = response.$metadata.requestId ?? null;
    for await (const { messageStop, metadata, ...event } of answer.control.watch(response.stream)) {
      addEvent(event, answer, blocks);
      if (messageStop) raw = messageStop.stopReason ?? raw;
      if (metadata?.usage) {
        fields.usage = readUsage(metadata.usage);
        answer.reportUsage(fields.usage);
      }
    }
  } catch (error) {
    failed = describeError(error, readProviderError);
  }
  const stop = raw ? buildStop(raw, STOP_REASONS, answer.content) : undefined;
  if (stop?.reason === "error") failed ??= { status: "error", error: { type: raw } };
  return answer.finish({ status: raw ? "complete" : "incomplete", stop, ...fields, ...failed });
}

function addEvent({ contentBlockStart, contentBlockDelta, contentBlockStop }, answer, blocks) {
  if (contentBlockStart) {
    const { contentBlockIndex: index, start = {} } = contentBlockStart;
    const block = convertStart(start);
    if (block) blocks.set(index, answer.startBlock(block));
  } else if (contentBlockDelta) {
    const { contentBlockIndex: index, delta = {} } = contentBlockDelta;
    const { text, reasoningContent, toolUse } = delta;
    // Text and thinking blocks have no start event: their first delta opens them.
    if (!blocks.has(index) && text !== undefined) blocks.set(index, answer.startBlock({ type: "text" }));
    if (!blocks.has(index) && reasoningContent)
      blocks.set(index, answer.startBlock({ type: "thinking", signature: null }));
    const block = answer.content[blocks.get(index)];
    if (reasoningContent && block?.type === "thinking") Object.assign(block, readSignature(reasoningContent));
    const piece = text ?? reasoningContent?.text ?? toolUse?.input;
    if (piece) answer.addDelta(blocks.get(index), piece);
  } else if (contentBlockStop) {
    const at = blocks.get(contentBlockStop.contentBlockIndex);
    const block = answer.content[at];
    const call = block?.type === "tool_call" && { arguments: parseArguments(block.arguments_text), complete: true };
    answer.endBlock(at, call || {});
  }
}

// Returns the block that a start event opens, or null if the event does not say which.
function convertStart(start) {
  const { toolUse } = start;
  const [kind] = Object.keys(start);
  if (!toolUse) return kind ? { type: "other", kind } : null;
  const executor = toolUse.type === "server_tool_use" ? "provider" : "client";
  return { type: "tool_call", id: toolUse.toolUseId, name: toolUse.name, executor };
}

// Returns the block's fields that a reasoning delta has besides text.
function readSignature({ signature, redactedContent }) {
  if (redactedContent) return { signature: Buffer.from(redactedContent).toString("base64"), redacted: true };
  return signature ? { signature } : {};
}

// Bedrock's counts are disjoint.
function readUsage(usage) {
  const details = usage.cacheDetails ?? [];
  const long = details.filter(({ ttl }) => ttl === "1h").reduce((sum, { inputTokens }) => sum + inputTokens, 0);
  return {
    input: usage.inputTokens ?? null,
    cache_read: usage.cacheReadInputTokens ?? null,
    cache_write: usage.cacheWriteInputTokens ?? null,
    cache_write_1h: details.length ? long : null,
    output: usage.outputTokens ?? null,
  };
}

// An exception in the service model is a BedrockRuntimeServiceException; in a stream, it has no metadata. Any other exception
// in a stream is an Error with the provider's name and text.
function readProviderError(error) {
  if (error instanceof BedrockRuntimeServiceException) {
    return { type: error.name, message: error.message, status: error.$metadata?.httpStatusCode ?? null };
  }
  return readRejected(error, error.message);
}
