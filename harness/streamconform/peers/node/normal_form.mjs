// Helpers shared by the adapters: convert stop reasons, errors, arguments and tools to the normal form.

// Timeout set on every client. It only ends requests that are no longer awaited; a slow trial's own timeout fires first.
export const TIMEOUT_SECONDS = 60;

// Returns the value of a call's arguments: `{}` if the text is empty, null if it is not JSON.
export function parseArguments(text) {
  if (!text?.trim()) return {};
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

// Returns the stop reason, for libraries that pass the provider's own through; `reasons` maps the provider's to ours.
export function buildStop(raw, reasons, content) {
  let reason = reasons[raw] ?? "other";
  const calls = content.some((block) => block?.type === "tool_call" && block.complete && block.executor !== "provider");
  if (reason === "stop" && calls) reason = "tool_use";
  if (reason === "stop" && content.at(-1)?.type === "refusal") reason = "refusal";
  return { reason, raw };
}

// Returns the status and the error for an exception: the provider sent an error, the library could not read the bytes, or
// the stream broke off. `readProviderError(error)` returns the provider's error, null if the exception is not one.
export function describeError(error, readProviderError) {
  const unparsed = [error, error?.cause].some((exception) => exception instanceof SyntaxError);
  const type = unparsed ? "protocol" : (error?.name ?? null);
  const cause = error?.cause ? `: ${error.cause.message ?? error.cause}` : ""; // `fetch failed` alone does not say why
  const message = `${error?.message ?? error}${cause}`.slice(0, 2000);
  const raised = error instanceof Error ? { type: error.name, message, where: findFrame(error) } : undefined;
  return { status: "error", error: readProviderError(error) ?? { type, message }, raised };
}

// Returns the innermost frame in a package, such as `openai/streaming.mjs:61`.
function findFrame({ stack = "" }) {
  return stack.match(/node_modules\/([^\s)]+?:\d+):\d+/)?.[1] ?? null;
}

// Returns the final blocks in the order of the events: the final message has one text beside its calls.
export function restoreOrder(content, recorded) {
  const join = (blocks, type) => blocks.map((block) => (block.type === type ? block.text : "")).join("");
  const calls = content.filter(({ type }) => type === "tool_call");
  const isSame = ["text", "refusal"].every((type) => join(content, type) === join(recorded, type));
  if (!isSame || calls.length !== recorded.filter(({ type }) => type === "tool_call").length) return content;
  return recorded.map((block) => (block.type === "tool_call" ? calls.shift() : block));
}

// Returns the function tools of any API's request as [name, description, JSON schema].
export function readTools({ tools = [], toolConfig, tool_config }) {
  const declarations = toolConfig?.tools ?? tool_config?.tools ?? tools;
  return declarations.flatMap((tool) => tool.functionDeclarations ?? [tool.toolSpec ?? tool.function ?? tool]).flatMap((tool) => {
    if (!tool.name || (tool.type && !["function", "custom"].includes(tool.type))) return [];
    const declared = tool.input_schema ?? tool.parametersJsonSchema ?? tool.parameters ?? {};
    // Google's schemas have their types in capitals.
    const lowerType = (key, value) => (key === "type" ? String(value).toLowerCase() : value);
    const schema = JSON.parse(JSON.stringify(declared, lowerType));
    return [[tool.name, tool.description ?? "", schema.type ? schema : { type: "object", properties: {} }]];
  });
}
