// What a library has told so far: blocks and their events. Libraries that build the message themselves give it to
// `over` as `content`; what was told piece by piece is then only the events.
export class Answer {
  #emit;
  #last = null;

  constructor(emit) {
    this.#emit = emit;
    this.content = [];
  }

  // Begins a block and returns its index. `at` is its index where the library numbers blocks.
  start(block, at = this.content.length) {
    this.#last = null;
    const full = block.type === "tool_call" ? { arguments: null, complete: false, ...block } : { text: "", ...block };
    this.content[at] = full;
    const call = { id: full.id ?? null, name: full.name ?? null };
    if (block.type !== "other") this.#tell(at, "start", block.type === "tool_call" ? call : {});
    return at;
  }

  delta(at, text) {
    const block = this.content[at];
    if (!block || block.type === "other") return;
    if (block.type === "tool_call") block.arguments_text = (block.arguments_text ?? "") + text;
    else block.text += text;
    this.#tell(at, "delta", { delta: text });
  }

  end(at, final = {}) {
    const block = this.content[at];
    if (!block || block.type === "other") return;
    Object.assign(block, final);
    const { text, signature = null, redacted = false } = block;
    if (block.type === "tool_call") this.#tell(at, "end", { tool_call: block });
    else this.#tell(at, "end", block.type === "thinking" ? { text, signature, redacted } : { text });
  }

  // One of the pieces that are handed over without saying where a block begins: neighbours of one type are a block.
  piece(type, text) {
    if (!text) return;
    if (this.content[this.#last]?.type !== type) {
      this.settle();
      this.#last = this.start({ type });
    }
    this.delta(this.#last, text);
  }

  // A signature behind a piece: that of the thinking which is open, else of thinking that is not shown.
  sign(signature) {
    if (this.content[this.#last]?.type === "thinking") {
      this.content[this.#last].signature = signature;
    } else {
      this.settle();
      this.end(this.start({ type: "thinking", signature }));
    }
  }

  // Ends the block that pieces have made.
  settle() {
    if (this.#last !== null) this.end(this.#last);
    this.#last = null;
  }

  // A call that comes whole. The normal form wants an id of every call; one that has none gets its number.
  call(block, text = JSON.stringify(block.arguments)) {
    this.settle();
    const id = block.id || `call_${this.content.length}`;
    const at = this.start({ type: "tool_call", id, name: block.name });
    if (text) this.delta(at, text);
    this.end(at, { arguments_text: null, complete: true, ...block, id });
  }

  usage(usage, cost = null) {
    this.#emit({ type: "usage", usage, cost });
  }

  // Returns the outcome and tells the last event.
  over({ status, stop = { reason: null, raw: null }, error = null, content = this.content, ...rest }) {
    if (status === "error") stop = { reason: "error", raw: stop.raw ?? null };
    if (status === "incomplete") stop = { reason: null, raw: null };
    this.#emit(status === "complete" ? { type: "done", stop } : { type: "error", status, error });
    return { status, stop, error, content: content.map((block) => block ?? { type: "other", kind: "none" }), ...rest };
  }

  #tell(at, what, more) {
    const { type } = this.content[at];
    this.#emit({ type: `${type === "tool_call" ? "toolcall" : type}_${what}`, content_index: at, ...more });
  }
}
