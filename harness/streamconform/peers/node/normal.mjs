// What several adapters need to bring a library's words to the normal form.

// What a client is told to wait at most: it ends what nobody waits for any more, a trial that takes too long is ended first.
export const SECONDS = 60;

// A value of JSON text, null where it is none; empty text is no arguments.
export function parsed(text) {
  if (!text?.trim()) return {};
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

// The reason in our words, from a table of the provider's, for libraries that hand on the provider's word.
export function stop(raw, table, content) {
  let reason = table[raw] ?? "other";
  const calls = content.some((block) => block?.type === "tool_call" && block.complete && block.executor !== "provider");
  if (reason === "stop" && calls) reason = "tool_use";
  if (reason === "stop" && content.at(-1)?.type === "refusal") reason = "refusal";
  return { reason, raw };
}

// What a thrown error says: what the provider said, that the library could not read the bytes, or that the stream did
// not end. `said(error)` returns what the provider said, if the library throws that.
export function thrown(error, said) {
  const told = said(error);
  if (told) return { status: "error", error: { type: null, message: null, status: null, ...told } };
  const broken = [error, error?.cause].some((each) => each instanceof SyntaxError);
  const crashed = error instanceof TypeError && !error.cause; // with a cause it is how `fetch` tells a lost connection
  const type = broken ? "protocol" : (error?.name ?? null);
  const why = error?.cause ? `: ${error.cause.message ?? error.cause}` : ""; // `fetch failed` alone tells nobody anything
  const words = { type, message: `${error?.message ?? error}${why}`.slice(0, 2000), status: null };
  return { status: broken || crashed ? "error" : "incomplete", error: words };
}

// The function tools of a request as [name, description, JSON schema].
export function tools({ tools: given = [], toolConfig, tool_config }) {
  const each = toolConfig?.tools ?? tool_config?.tools ?? given;
  return each.flatMap((tool) => tool.functionDeclarations ?? [tool.toolSpec ?? tool.function ?? tool]).flatMap((tool) => {
    if (!tool.name || (tool.type && !["function", "custom"].includes(tool.type))) return [];
    const given = tool.input_schema ?? tool.parametersJsonSchema ?? tool.parameters ?? {};
    const schema = JSON.parse(JSON.stringify(given, (key, value) => (key === "type" ? String(value).toLowerCase() : value))); // Google's are in capitals
    return [[tool.name, tool.description ?? "", schema.type ? schema : { type: "object", properties: {} }]];
  });
}
