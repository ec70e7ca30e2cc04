// Joins the chunks of Chat Completions for libraries that leave this to their callers, with field names as in JSON or in camel
// case. Texts are joined, and pieces of calls are joined by the index that the library reports.

import { buildStop, parseArguments } from "./normal.mjs";
import { describeError } from "./normal_form.mjs";

const STOP_REASONS = {
  stop: "stop",
  eos: "stop",
  length: "length",
  model_length: "length",
  tool_calls: "tool_use",
  function_call: "tool_use",
  content_filter: "content_filter",
  error: "error",
};

// Reads the chunks that `open()` returns. `readProviderError` is passed to `describeError`. `readContent(delta)` returns the
// delta's pieces as `[type, text]`, `readChunkUsage(chunk)` returns the usage object, and `readUsage(usage)` its counts.
// `isNewCall(call, piece)` returns whether a piece starts another call at the same index. `amend(outcome)` returns the outcome
// for a library that has its own final value; `abort(chunks)` is the library's own function that aborts.
export async function readChunks(open, answer, library) {
  const {
    readContent,
    readUsage,
    readProviderError,
    readChunkUsage = ({ usage }) => usage,
    isNewCall = () => false,
    amend = (outcome) => outcome,
    abort,
  } = library;
  const calls = new Map(); // maps a call's index to its block's index
  const fields = { usage: null, model: null, response_id: null };
  let [raw, failed] = [null, null];
  try {
    const chunks = await open();
    if (abort) answer.control.own = () => abort(chunks);
    for await (const chunk of answer.control.watch(chunks)) {
      fields.model = chunk.model ?? fields.model;
      fields.response_id = chunk.id ?? fields.response_id;
      const usage = readChunkUsage(chunk);
      if (usage) {
        fields.usage = readUsage(usage);
        answer.reportUsage(fields.usage);
      }
      for (const choice of (chunk.choices ?? []).filter(({ index }) => !index)) {
        for (const [type, text] of readContent(choice.delta ?? {})) answer.addPiece(type, text);
        const { function_call: legacy } = choice.delta ?? {};
        if (legacy) addCallPiece({ index: "legacy", function: legacy }, answer, calls, isNewCall);
        for (const piece of choice.delta?.tool_calls ?? choice.delta?.toolCalls ?? [])
          addCallPiece(piece, answer, calls, isNewCall);
        raw = choice.finish_reason ?? choice.finishReason ?? raw;
      }
    }
  } catch (error) {
    failed = describeError(error, readProviderError);
  }
  answer.endOpenBlock();
  if (raw) endCalls(answer, raw);
  const stop = raw ? buildStop(raw, STOP_REASONS, answer.content) : undefined;
  const status = stop?.reason === "error" ? "error" : raw ? "complete" : "incomplete";
  return answer.finish(amend({ status, stop, ...fields, ...failed }));
}

// Adds arguments, as text or an object; the first piece of a call starts it.
function addCallPiece({ index, id, function: called }, answer, calls, isNewCall) {
  // A piece without an index is a call of its own.
  const key = index ?? calls.size;
  if (!calls.has(key) || isNewCall(answer.content[calls.get(key)], { id })) {
    answer.endOpenBlock();
    calls.set(
      key,
      answer.startBlock({ type: "tool_call", id: id && id !== "null" ? id : null, name: called?.name ?? null }),
    );
  }
  const { arguments: value } = called ?? {};
  const text = value && typeof value === "object" ? JSON.stringify(value) : value;
  if (text) answer.addDelta(calls.get(key), text);
}

// Ends the calls. The last one is not complete if the answer was cut inside it.
function endCalls(answer, raw) {
  const { content } = answer;
  const last = content.findLastIndex(({ type }) => type === "tool_call");
  content.forEach((block, index) => {
    if (block.type !== "tool_call") return;
    const value = parseArguments(block.arguments_text);
    const cut = value === null && index === last && ["length", "model_length", "content_filter"].includes(raw);
    if (!cut) answer.endBlock(index, { arguments: value, complete: true });
  });
}
