// Helpers shared by the adapters: describe errors, restore the order of blocks, and read the tools of a request.

// Timeout set on every client. It only ends requests that are no longer awaited, so it is longer than the timeout of any trial
// that `make matrix` runs, even on a busy machine.
export const TIMEOUT_SECONDS = 600;

// Returns the status, the error and the exception itself: the provider sent an error, the library could not read the bytes, or
// the stream broke off. `readProviderError(error)` returns the provider's error, or null if the exception is not one.
export function describeError(error, readProviderError) {
  const unparsed = [error, error?.cause].some((exception) => exception instanceof SyntaxError);
  const type = unparsed ? "protocol" : (error?.name ?? null);
  const cause = error?.cause ? `: ${error.cause.message ?? error.cause}` : ""; // `fetch failed` does not say why
  const details = { type, message: `${error?.message ?? error}${cause}`.slice(0, 2000) };
  return { status: "error", error: readProviderError(error) ?? details, raised: describeRaised(error) };
}

// Returns the `raised` field of a result: class, message and the innermost frame inside a package.
export function describeRaised(error) {
  const cause = error?.cause?.constructor?.name ?? null;
  const type = error?.constructor?.name ?? typeof error;
  const from = cause && cause !== type ? ` (from ${cause})` : "";
  const message = String(error?.message ?? error).slice(0, 500 - from.length) + from;
  return { type, message, where: listPackageFrames(error)[0] ?? null };
}

// Returns whether the library raised an exception: a frame inside a package comes before the first frame in our own files. A
// TypeError with a cause, which `fetch` raises for a lost connection, counts too.
export function isRaisedByLibrary(error) {
  return listPackageFrames(error).length > 0 || (error instanceof TypeError && error.cause !== undefined);
}

// Returns the frames inside packages above the first frame in our own files, as `openai/core/streaming.mjs:61 in next`.
function listPackageFrames(error) {
  const lines = String(error?.stack ?? "")
    .split("\n")
    .filter((line) => /^\s+at /.test(line));
  const own = lines.findIndex((line) => line.includes("file:") && !line.includes("/node_modules/"));
  return (own < 0 ? lines : lines.slice(0, own)).flatMap((line) => {
    const [, name, file, number] = /at (?:(?:async )?(.*?) \()?.*\/node_modules\/(.*?):(\d+):\d+\)?$/.exec(line) ?? [];
    return file ? [`${file}:${number}${name ? ` in ${name}` : ""}`] : [];
  });
}

// Returns the final blocks in the order of the events, because the final message has only one text next to its calls.
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
  return declarations
    .flatMap((tool) => tool.functionDeclarations ?? [tool.toolSpec ?? tool.function ?? tool])
    .flatMap((tool) => {
      if (!tool.name || (tool.type && !["function", "custom"].includes(tool.type))) return [];
      const declared = tool.input_schema ?? tool.parametersJsonSchema ?? tool.parameters ?? {};
      // Google's schemas have types in capitals.
      const lowerType = (key, value) => (key === "type" ? String(value).toLowerCase() : value);
      const schema = JSON.parse(JSON.stringify(declared, lowerType));
      return [[tool.name, tool.description ?? "", schema.type ? schema : { type: "object", properties: {} }]];
    });
}
