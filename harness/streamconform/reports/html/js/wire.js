// The wire of a trial: frames with offsets, times and reads; payloads, raw bytes; events beside them.

const ALL_FRAMES = 24;
const AROUND = 1;
const MOST_MARKED = 24;
const RAW_SHOWN = 3000;

// Number of the read that holds an offset.
function readAt(wire, offset) {
  if (!wire.chunks) return offset;
  let low = 0;
  let high = wire.chunks.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (wire.chunks[middle] <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

function readsOf(wire, start, end) {
  if (!wire.chunks && wire.reads > 1) return `${number(end - start)} of a byte`;
  const from = readAt(wire, start);
  const to = readAt(wire, Math.max(start, end - 1));
  return from === to ? `${from}` : `${from}–${to}`;
}

function timeAt(wire, offset) {
  let found = "";
  for (const [at, ms] of wire.times) {
    if (at > offset) break;
    found = `${number(ms)} ms`;
  }
  return found;
}

// Bytes as text: what is no UTF-8 is \xNN, and every place where a read began is marked.
function raw(bytes, start, wire) {
  const nodes = [];
  const cuts = new Set(wire.chunks || []);
  let plain = [];
  const flush = () => {
    if (plain.length) nodes.push(...visible(utf8.decode(new Uint8Array(plain))));
    plain = [];
  };
  for (let i = 0; i < bytes.length;) {
    if (cuts.has(start + i)) {
      flush();
      nodes.push(el("span", { class: "cut", title: `read ${readAt(wire, start + i)} begins at byte ${start + i}` }, `⌟${readAt(wire, start + i)}⌞`));
    }
    let size = length(bytes, i);
    if (size > 1) for (let k = 1; k < size; k += 1) if (cuts.has(start + i + k)) size = 0;
    if (size) plain.push(...bytes.subarray(i, i + size));
    else {
      flush();
      nodes.push(el("span", { class: "esc" }, `\\x${bytes[i].toString(16).padStart(2, "0")}`));
    }
    i += size || 1;
  }
  flush();
  return nodes;
}

// How many bytes the character at `i` has; 0 where there is none.
function length(bytes, i) {
  const first = bytes[i];
  const size = first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
  for (let k = 1; k < size; k += 1) if ((bytes[i + k] & 0xc0) !== 0x80) return 0;
  if (size > 2 && utf8.decode(bytes.subarray(i, i + size)).includes("\ufffd")) return 0;
  return i + size <= bytes.length ? size : 0;
}

function rawBox(bytes, start, wire) {
  if (bytes.length <= RAW_SHOWN * 1.2) return raw(bytes, start, wire);
  const rest = el("button", { type: "button", class: "more" }, `show all ${number(bytes.length)} bytes`);
  const box = el("span", {}, raw(bytes.subarray(0, RAW_SHOWN), start, wire), "… ", rest);
  rest.addEventListener("click", () => box.replaceChildren(...raw(bytes, start, wire)));
  return [box];
}

function hex(bytes, start) {
  const lines = [];
  for (let i = 0; i < Math.min(bytes.length, 2048); i += 16) {
    const part = [...bytes.subarray(i, i + 16)];
    const codes = part.map((each) => each.toString(16).padStart(2, "0")).join(" ").padEnd(47);
    lines.push(`${(start + i).toString(16).padStart(6, "0")}  ${codes}  ${part.map((each) => (each > 31 && each < 127 ? String.fromCharCode(each) : "·")).join("")}`);
  }
  if (bytes.length > 2048) lines.push(`… ${number(bytes.length - 2048)} more bytes`);
  return [lines.join("\n")];
}

function payloadOf(bytes, frame) {
  const [, , start, end, , apart] = frame;
  return utf8.decode(apart === undefined ? bytes.subarray(start, end) : bytesOf(apart));
}

// The numbers of the frames that are shown at first: all of a few, else those that matter and their neighbours.
function mattering(count, marked, everything) {
  if (everything || count <= ALL_FRAMES) return new Set(Array.from({ length: count }, (_, n) => n));
  const found = new Set([0, count - 1]);
  const some = marked.length <= MOST_MARKED ? marked : [...marked.slice(0, MOST_MARKED / 2), marked[marked.length - 1]];
  for (const n of some) for (let k = n - AROUND; k <= n + AROUND; k += 1) if (k >= 0 && k < count) found.add(k);
  if (!marked.length) for (let n = 0; n < 8; n += 1) found.add(n);
  return found;
}

function eventNodes(list, departing) {
  return list.map(([, text], at) => el("div", { class: departing && !at ? "event wrong" : "event" },
    el("span", { "aria-hidden": "true" }, "→ "), departing && !at && el("b", {}, "departs here: "), long(text, visible, 500)));
}

function timeline(failure, wire, view) {
  const bytes = bytesOf(wire.body);
  const decided = [...new Set((failure.checks || []).flatMap((check) => check.frames))].sort((a, b) => a - b);
  const placed = new Map();
  const loose = [];
  for (const event of failure.events || []) {
    if (event[0] === null) loose.push(event);
    else if (placed.has(event[0])) placed.get(event[0]).push(event);
    else placed.set(event[0], [event]);
  }
  const departed = failure.departed ?? null;
  const marked = departed === null ? decided : [departed, ...decided.filter((n) => n !== departed)];
  const shown = mattering(wire.frames.length, marked, view.all);
  const rows = [];
  let gap = 0;
  const close = (before) => {
    if (!gap) return;
    const hidden = gap;
    rows.push(el("tr", { class: "gap" }, el("td", { colspan: 5 }, el("button", { type: "button", class: "more", onclick: () => { view.all = true; view.redraw(`frame-${before - hidden}`); } },
      `${counted(hidden, "frame")} between`))));
    gap = 0;
  };
  wire.frames.forEach((frame, n) => {
    if (!shown.has(n)) { gap += 1; return; }
    close(n);
    rows.push(frameRow(frame, n, { bytes, wire, view, decided: decided.includes(n), departed: n === departed, events: placed.get(n) || [], loose: n === departed ? loose : [] }));
  });
  close(wire.frames.length);
  const tail = departed === null && loose.length ? [el("p", { class: "dim" }, "Events, which no frame accounts for by itself"), eventNodes(loose.slice(0, 60), false)] : [];
  const table = el("table", { class: `wire ${view.kind}` },
    el("thead", {}, el("tr", {}, ["frame", "bytes", wire.times.length > 0 && "time", "read", view.kind === "payload" ? "event, payload, → what came of it" : "bytes"].filter(Boolean).map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, rows));
  const whole = wire.frames.length ? [table] : [el("pre", { class: "box" }, view.kind === "hex" ? hex(bytes, 0) : rawBox(bytes, 0, wire))];
  return [...whole, ...tail.flat()];
}

function frameRow(frame, n, given) {
  const { bytes, wire, view, decided, departed, events, loose } = given;
  const [start, end, , , name] = frame;
  const slice = bytes.subarray(start, end);
  const text = payloadOf(bytes, frame);
  const body = view.kind === "raw" ? rawBox(slice, start, wire) : view.kind === "hex" ? hex(slice, start) : long(text);
  const label = [decided && "decides what differs", departed && "the answer departs here"].filter(Boolean);
  return el("tr", { id: `frame-${n}`, class: [decided && "decided", departed && "departed"].filter(Boolean).join(" ") || null, tabindex: "-1" },
    el("th", { scope: "row" }, String(n), label.length > 0 && el("span", { class: "off" }, `, ${label.join(", ")}`)),
    el("td", { class: "n" }, `${number(start)}`, el("small", {}, ` +${number(end - start)}`)),
    wire.times.length > 0 && el("td", { class: "n" }, timeAt(wire, start)),
    el("td", { class: "n" }, readsOf(wire, start, end)),
    el("td", { class: "payload" },
      departed && el("p", { class: "flag" }, "the answer departs here"),
      el("div", { class: "code" }, view.kind === "payload" && name && [el("b", { class: "name" }, visible(name)), " "], body),
      view.kind === "payload" && eventNodes(events, false),
      view.kind === "payload" && loose.length > 0 && eventNodes(loose.slice(0, 1), true),
      view.kind === "payload" && loose.length > 1 && el("details", {}, el("summary", {}, `${counted(loose.length - 1, "later event")}`), eventNodes(loose.slice(1, 200), false)),
      copier(text, `the payload of frame ${n}`)));
}
