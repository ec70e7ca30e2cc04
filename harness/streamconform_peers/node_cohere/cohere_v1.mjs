// Reads the events of cohere-ai's v1 `chatStream()`: text from all, calls and usage from the last. Also ends an answer of
// either version.

import { buildStop, parseArguments } from "../node/normal.mjs";

const STOP_REASONS = {
  COMPLETE: "stop",
  STOP_SEQUENCE: "stop",
  MAX_TOKENS: "length",
  ERROR_LIMIT: "length",
  TOOL_CALL: "tool_use",
};
Object.assign(STOP_REASONS, { ERROR_TOXIC: "content_filter", ERROR: "error", TIMEOUT: "error" });

export function readV1Event(event, answer, state) {
  switch (event.eventType) {
    case "stream-start":
      state.id = event.generationId ?? null;
      break;
    case "text-generation":
      answer.addPiece("text", event.text);
      break;
    case "tool-calls-chunk": {
      answer.addPiece("text", event.text);
      const { index, name, parameters } = event.toolCallDelta ?? {};
      if (name && !state.calls.has(index)) {
        answer.endOpenBlock();
        state.calls.set(index, answer.startBlock({ type: "tool_call", name }));
      }
      if (parameters) answer.addDelta(state.calls.get(index), parameters);
      break;
    }
    case "tool-calls-generation":
      state.whole ??= event.toolCalls;
      break;
    case "stream-end": {
      const { toolCalls, meta } = event.response ?? {};
      state.end = event;
      state.whole = toolCalls ?? state.whole;
      if (meta) {
        state.usage = readUsage(meta);
        answer.reportUsage(state.usage);
      }
      break;
    }
  }
}

// Ends the calls, using the complete calls if an event has them, otherwise the joined pieces.
export function readV1Calls(answer, { whole, calls, end }) {
  const started = [...calls.values()];
  for (const [number, { name, parameters }] of (whole ?? []).entries()) {
    if (number < started.length) answer.endBlock(started[number], { name, arguments: parameters, complete: true });
    else answer.addCall({ name, arguments: parameters });
  }
  if (whole || !end) return;
  for (const at of started)
    answer.endBlock(at, { arguments: parseArguments(answer.content[at].arguments_text), complete: true });
}

export function finishAnswer(answer, { end, usage, id }, failed) {
  const raw = end?.finishReason ?? null;
  const stop = end ? buildStop(raw, STOP_REASONS, answer.content) : undefined;
  const error = stop?.reason === "error" || end?.error ? { type: raw, message: end.error ?? null } : null;
  const status = error ? "error" : end ? "complete" : "incomplete";
  return answer.finish({ status, stop, error, usage, response_id: id, ...failed });
}

// Returns the usage in billed units.
export function readUsage({ billedUnits }) {
  const { inputTokens: input = null, outputTokens: output = null, searchUnits = null } = billedUnits ?? {};
  return { input, output, web_searches: searchUnits };
}
