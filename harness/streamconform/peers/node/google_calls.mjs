// Calls of @google/genai whose arguments come in pieces, which it hands over as they are: `partialArgs`, each a value and
// where it belongs. Its documentation leaves it to the caller to put them together.

const STEP = /\.([^.[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/g;

export class Calls {
  #open = null;

  constructor(answer) {
    this.answer = answer;
  }

  // Takes a `functionCall`: a whole one, the beginning of one, or, where it has no name, what goes on with it.
  take({ id, name, args, partialArgs = [], willContinue }) {
    if (name !== undefined) {
      this.close();
      if (!willContinue && !partialArgs.length) return this.answer.call({ id: id ?? null, name, arguments: args ?? {} });
      this.answer.settle();
      const at = this.answer.start({ type: "tool_call", id: id ?? `call_${this.answer.content.length}`, name });
      this.#open = { at, value: {}, going: null };
    }
    if (!this.#open) return;
    for (const piece of partialArgs) put(this.#open, piece);
    if (!willContinue && !this.#open.going) this.close();
  }

  // Ends the call that is open: its close may be missing before the end of the answer.
  close() {
    const { at, value } = this.#open ?? {};
    this.#open = null;
    if (at === undefined) return;
    this.answer.delta(at, JSON.stringify(value));
    this.answer.end(at, { arguments: value, arguments_text: null, complete: true });
  }
}

// Sets a value where its path says; text behind a piece that `willContinue` is appended.
function put(call, { jsonPath, willContinue, ...piece }) {
  const steps = [...jsonPath.matchAll(STEP)].map(([, name, index, one, two]) => name ?? (index ? Number(index) : (one ?? two)));
  let holder = call;
  let key = "value";
  for (const step of steps) {
    holder[key] ??= typeof step === "number" ? [] : {};
    holder = holder[key];
    key = typeof step === "string" ? step.replace(/\\(.)/g, "$1") : step;
  }
  const { stringValue, numberValue, boolValue } = piece;
  const before = call.going === jsonPath ? holder[key] : "";
  holder[key] = stringValue !== undefined ? before + stringValue : (numberValue ?? boolValue ?? null);
  call.going = willContinue ? jsonPath : null;
}
