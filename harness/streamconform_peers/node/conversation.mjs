// A conversation that the library holds: the turns that follow its first messages, and the results that its tools return.

// Returns how many answers a library that runs the tools reads by itself, if `turns` follow: it stops where the caller adds
// messages or, with an empty turn, lets a paused answer go on.
export function countAnswers(turns) {
  const index = turns.findIndex(isOfCaller);
  return (index < 0 ? turns.length : index) + 1;
}

// Returns whether the caller has to send the request that follows a turn.
export function isOfCaller(turn) {
  return turn?.messages !== undefined || turn?.results === undefined;
}

// Returns the tools of a request in the API's form, with those of the conversation that it lacks: it may be an older one.
export function addTools(declared = [], { tools = [] }, readName, convert) {
  const names = new Set(declared.map(readName));
  return [...declared, ...tools.filter(({ name }) => !names.has(name)).map(convert)];
}

// The results of a conversation's turns, in order. A result belongs to the first call with its name that has none yet.
export class ResultQueue {
  constructor(turns) {
    this.results = turns.flatMap(({ results = [] }) => results);
  }

  // Takes the result of the next call of a tool. There is none if the library runs a call twice, or invents one.
  take(name) {
    const index = this.results.findIndex((result) => result.name === name);
    if (index < 0) throw new Error(`the case has no result for another call of ${name}`);
    return this.results.splice(index, 1)[0];
  }
}

// Returns the results of an answer's calls as `[call, result]`, for libraries whose callers run the tools.
export function matchResults(calls, results = []) {
  const left = [...calls];
  return results.flatMap((result) => {
    const index = left.findIndex(({ name }) => name === result.name);
    return index < 0 ? [] : [[left.splice(index, 1)[0], result]];
  });
}

// Returns content as text, or a JSON value, or a list of parts.
export function readContent(content) {
  return content.length === 1 && content[0].type === "json" ? content[0].value : content;
}

// Returns content as text, for libraries whose results have no other form; images are left out.
export function readText(content) {
  if (typeof content === "string") return content;
  const texts = content.map(({ type, text, value }) => (type === "json" ? JSON.stringify(value) : (text ?? "")));
  return texts.filter(Boolean).join("\n");
}
