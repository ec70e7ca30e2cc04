// Records an answer while a library reads it: keeps the blocks and emits their events. If a library builds the final message
// itself, the adapter passes it to `finish` as `content`; the recorded blocks are then used only for the events.
export class AnswerRecorder {
  #emit;
  #open = null; // the index of the block that `addPiece` extends

  constructor(emit, control) {
    this.#emit = emit;
    this.control = control;
    this.content = [];
    this.raised = null; // the exception that the library raised
    this.first = null; // the outcome of the first answer of a conversation
  }

  // Forgets an answer that is finished, so that the next one of a conversation can be recorded.
  startNext() {
    this.content = [];
    this.#open = null;
  }

  // Starts a block and returns its index. `index` is given if the library numbers blocks itself.
  startBlock(block, index = this.content.length) {
    this.#open = null;
    const full = block.type === "tool_call" ? { arguments: null, complete: false, ...block } : { text: "", ...block };
    this.content[index] = full;
    const call = { id: full.id ?? null, name: full.name ?? null };
    if (block.type !== "other") this.#emitBlockEvent(index, "start", block.type === "tool_call" ? call : {});
    return index;
  }

  addDelta(index, text) {
    const block = this.content[index];
    if (!block || block.type === "other") return;
    if (block.type === "tool_call") block.arguments_text = (block.arguments_text ?? "") + text;
    else block.text += text;
    this.#emitBlockEvent(index, "delta", { delta: text });
    this.control.count();
  }

  endBlock(index, final = {}) {
    const block = this.content[index];
    if (!block || block.type === "other") return;
    Object.assign(block, final);
    const { text, signature = null, redacted = false } = block;
    if (block.type === "tool_call") this.#emitBlockEvent(index, "end", { tool_call: block });
    else this.#emitBlockEvent(index, "end", block.type === "thinking" ? { text, signature, redacted } : { text });
  }

  // Adds text from a library that does not report where blocks start: consecutive pieces of the same type form a block.
  addPiece(type, text) {
    if (!text) return;
    if (this.content[this.#open]?.type !== type) {
      this.endOpenBlock();
      this.#open = this.startBlock({ type });
    }
    this.addDelta(this.#open, text);
  }

  // Adds the last piece of a block, with the signature of that piece. Only a thought may have earlier pieces, which the
  // signature covers; signed text and a signature without text are separate blocks.
  addSignedPiece(type, text, signature) {
    if (type === "text" || !text) this.endOpenBlock();
    this.#open ??= this.startBlock({ type });
    if (text) this.addPiece(type, text);
    this.content[this.#open].signature = signature;
    this.endOpenBlock();
  }

  // Ends the block that `addPiece` extends, if there is one.
  endOpenBlock() {
    if (this.#open !== null) this.endBlock(this.#open);
    this.#open = null;
  }

  // Adds a complete tool call.
  addCall(block, text = JSON.stringify(block.arguments)) {
    this.endOpenBlock();
    const id = block.id || null;
    const index = this.startBlock({ type: "tool_call", id, name: block.name });
    if (text) this.addDelta(index, text);
    this.endBlock(index, { complete: true, ...block, id });
  }

  reportUsage(usage, cost = null) {
    this.#emit({ type: "usage", usage, cost });
  }

  // Emits the terminal event and returns the outcome.
  finish({ status, stop = { reason: null, raw: null }, error = null, content = this.content, raised = null, ...rest }) {
    this.raised = raised;
    if (status === "error") stop = { reason: "error", raw: stop.raw ?? null };
    if (status === "incomplete") stop = { reason: null, raw: null };
    this.#emit(status === "complete" ? { type: "done", stop } : { type: "error", status, error });
    const blocks = content.map((block) => block ?? { type: "other", kind: "none" });
    const outcome = { status, stop, error, content: blocks, ...rest };
    this.first ??= outcome;
    return outcome;
  }

  #emitBlockEvent(index, step, fields) {
    const { type } = this.content[index];
    this.#emit({ type: `${type === "tool_call" ? "toolcall" : type}_${step}`, content_index: index, ...fields });
  }
}
