// What a run asks for besides reading the answer (`control`): to leave it, or to stop reading for a while.

import { get } from "node:http";

export class Control {
  #caller = new AbortController();
  #deltas = 0;
  #hasPaused = false;

  // The library's own function that aborts an answer. An adapter sets it if there is one; if not, or if the run asks to cancel,
  // the caller's signal is aborted instead.
  own = null;
  hasLeft = false;

  constructor({ stop = null, pause = null, after, url } = {}) {
    Object.assign(this, { stop, pause, after: pause?.after ?? after });
    if (after === 0) waitForServer(url).then(() => this.#leave()); // it answers as soon as it has the request
  }

  // The signal to pass with the request, if the run may abort it.
  get signal() {
    return this.stop === "abort" || this.stop === "cancel" ? this.#caller.signal : undefined;
  }

  // Returns the caller's signal and one that ends a request that is no longer awaited.
  withTimeout(seconds) {
    const timeout = AbortSignal.timeout(seconds * 1000);
    return this.signal ? AbortSignal.any([this.signal, timeout]) : timeout;
  }

  // Counts a delta that the library has handed out.
  count() {
    this.#deltas += 1;
    if (this.#deltas === this.after && this.signal) this.#leave();
  }

  // Returns the events of an answer, whose reader leaves the loop, or pauses in it, if the run asks for it.
  watch(events) {
    return this.stop === "abandon" || this.pause ? this.#follow(events) : events;
  }

  // Reads a stream that reports to listeners in a loop as well, if the run asks for what only a loop can do.
  async readInLoop(stream) {
    const events = this.watch(stream);
    if (events === stream) return;
    for await (const _ of events);
    if (this.hasLeft) throw new Error("the reader has left the loop");
  }

  #leave() {
    if (this.stop === "abort" && this.own) this.own();
    else this.#caller.abort();
  }

  async *#follow(events) {
    for await (const event of events) {
      yield event;
      if (this.#deltas < this.after) continue;
      this.hasLeft = this.stop === "abandon";
      if (this.hasLeft) return; // like `break`
      if (!this.#hasPaused) await waitForServer(this.pause.url);
      this.#hasPaused = true;
    }
  }
}

// Returns when the server answers a request that is not for the model, on a connection that no library uses.
function waitForServer(url) {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => response.on("end", resolve).resume()).on("error", reject);
  });
}
