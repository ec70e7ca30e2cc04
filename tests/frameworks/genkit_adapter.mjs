// Genkit: `ai.generateStream()`, and the response at its end. The loop that calls `ask` is that of `conform init --language node`.

import { anthropic } from "@genkit-ai/anthropic";
import { openAI } from "@genkit-ai/compat-oai/openai";
import { googleAI } from "@genkit-ai/google-genai";
import { genkit } from "genkit";
import { buildStop } from "./normal.mjs";

const STOPS = { stop: "stop", length: "length", blocked: "content_filter" };
const apiKey = "conform";
const MODELS = {
  "google-generate": ({ base_url: baseUrl }, model) => [googleAI({ apiKey, baseUrl }), googleAI.model(model)],
  "openai-chat": ({ base_url }, model) => [
    openAI({ apiKey, baseURL: `${base_url}/v1`, maxRetries: 0, timeout: 5000 }),
    openAI.model(model),
  ],
  "anthropic-messages": ({ base_url }, model) => {
    process.env.ANTHROPIC_BASE_URL = base_url; // the plugin has no option for it
    return [anthropic({ apiKey }), anthropic.model(model)];
  },
};

export async function ask(run) {
  const [plugin, model] = MODELS[run.api](run.input, run.model);
  const messages = [{ role: "user", content: [{ text: "hi" }] }];
  let text = "";
  try {
    const { stream, response } = genkit({ plugins: [plugin] }).generateStream({
      model,
      messages,
      returnToolRequests: true,
    });
    response.catch(() => {});
    for await (const chunk of stream) for (const part of chunk.content) text += part.text ?? "";
    return { outcome: convert(await response, run.api) };
  } catch (raised) {
    // After an exception, only the text of the chunks is content: they repeat an unfinished call.
    const content = text ? [{ type: "text", text }] : [];
    return { outcome: { status: "error", stop: { reason: "error" }, content, usage: null }, raised };
  }
}

function convert({ message, finishReason: raw, usage }, api) {
  const complete = Boolean(raw) && raw !== "unknown";
  const content = (message?.content ?? []).flatMap((part) => convertPart(part, complete));
  // For Gemini, Genkit counts thoughts apart from the output.
  const output = (usage?.outputTokens ?? 0) + (api === "google-generate" ? (usage?.thoughtsTokens ?? 0) : 0);
  return {
    status: complete ? "complete" : "incomplete",
    stop: complete ? buildStop(raw, STOPS, content) : { reason: null },
    content,
    usage: usage ? { input: usage.inputTokens ?? null, output } : null,
  };
}

function convertPart({ toolRequest: call, custom, reasoning, text }, complete) {
  if (call) {
    // Arguments that are not JSON stay text.
    const value = typeof call.input === "string" ? null : (call.input ?? {});
    return [{ type: "tool_call", name: call.name, arguments: value, complete }];
  }
  if (custom?.redactedThinking) return [{ type: "thinking", text: "", redacted: true }];
  if (reasoning) return [{ type: "thinking", text: reasoning }];
  return text ? [{ type: "text", text }] : [];
}
