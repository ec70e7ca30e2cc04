// Assembles @google/genai's calls whose arguments arrive as `partialArgs`: values, each with its JSON path. The library leaves
// this to its callers.

const PATH_STEP = /\.([^.[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/g;

export class CallAssembler {
  #open = null;

  constructor(answer) {
    this.answer = answer;
  }

  // Adds a `functionCall`: a complete call, the start of one or, without a name, a continuation of the open call.
  add({ id, name, args, partialArgs = [], willContinue, signature }) {
    if (name !== undefined) {
      this.close();
      if (!willContinue && !partialArgs.length)
        return this.answer.addCall({ id: id ?? null, name, arguments: args ?? {}, signature });
      this.answer.endOpenBlock();
      const index = this.answer.startBlock({ type: "tool_call", id: id ?? null, name, signature });
      this.#open = { index, value: {}, openPath: null };
    }
    if (!this.#open) return;
    for (const piece of partialArgs) setValue(this.#open, piece);
    if (!willContinue && !this.#open.openPath) this.close();
  }

  // Ends the open call, if any; an answer may end without closing it.
  close() {
    const { index, value } = this.#open ?? {};
    this.#open = null;
    if (index === undefined) return;
    this.answer.addDelta(index, JSON.stringify(value));
    this.answer.endBlock(index, { arguments: value, complete: true });
  }
}

// Sets the value at the piece's path; text that follows a piece with `willContinue` is appended.
function setValue(call, { jsonPath, willContinue, ...piece }) {
  const steps = [...jsonPath.matchAll(PATH_STEP)].map(
    ([, name, index, one, two]) => name ?? (index ? Number(index) : (one ?? two)),
  );
  let holder = call;
  let key = "value";
  for (const step of steps) {
    holder[key] ??= typeof step === "number" ? [] : {};
    holder = holder[key];
    key = typeof step === "string" ? step.replace(/\\(.)/g, "$1") : step;
  }
  const { stringValue, numberValue, boolValue } = piece;
  const before = call.openPath === jsonPath ? holder[key] : "";
  holder[key] = stringValue !== undefined ? before + stringValue : (numberValue ?? boolValue ?? null);
  call.openPath = willContinue ? jsonPath : null;
}
