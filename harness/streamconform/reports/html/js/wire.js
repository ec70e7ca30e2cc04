// The wire of a trial: frames with offsets, times and reads; payloads or raw bytes; events beside them.

const ALL_FRAMES = 24; // up to this many frames are all shown at first
const AROUND = 1;
const MAX_MARKED = 24;
const RAW_SHOWN = 3000;

// Returns the number of the read that contains an offset.
function findRead(wire, offset) {
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

function formatReads(wire, start, end) {
  if (!wire.chunks && wire.reads > 1) return `${formatNumber(end - start)} of one byte`;
  const from = findRead(wire, start);
  const to = findRead(wire, Math.max(start, end - 1));
  return from === to ? `${from}` : `${from}–${to}`;
}

function formatTime(wire, offset) {
  let time = "";
  for (const [start, ms] of wire.times) {
    if (start > offset) break;
    time = `${formatNumber(ms)} ms`;
  }
  return time;
}

// Returns bytes as text: invalid UTF-8 as \xNN, with a mark where each read began.
function drawRaw(bytes, start, wire) {
  const nodes = [];
  const cuts = new Set(wire.chunks || []);
  let plain = [];
  const flush = () => {
    if (plain.length) nodes.push(...escapeNodes(utf8.decode(new Uint8Array(plain))));
    plain = [];
  };
  for (let i = 0; i < bytes.length; ) {
    if (cuts.has(start + i)) {
      flush();
      nodes.push(
        el(
          "span",
          { class: "cut", title: `read ${findRead(wire, start + i)} begins at byte ${start + i}` },
          `⌟${findRead(wire, start + i)}⌞`,
        ),
      );
    }
    let size = countCharacterBytes(bytes, i);
    // If a read begins inside the character, its bytes are shown one by one, with the mark between them.
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

// Returns the number of bytes of the character at `i`, or 0 if they are not valid UTF-8.
function countCharacterBytes(bytes, i) {
  const first = bytes[i];
  const size =
    first < 0x80
      ? 1
      : first >= 0xc2 && first < 0xe0
        ? 2
        : first >= 0xe0 && first < 0xf0
          ? 3
          : first >= 0xf0 && first < 0xf5
            ? 4
            : 0;
  for (let k = 1; k < size; k += 1) if ((bytes[i + k] & 0xc0) !== 0x80) return 0;
  // Overlong forms and surrogates have the form of a character, but the decoder rejects them.
  if (size > 2 && utf8.decode(bytes.subarray(i, i + size)).includes("\ufffd")) return 0;
  return i + size <= bytes.length ? size : 0;
}

function drawRawPart(bytes, start, wire) {
  if (bytes.length <= RAW_SHOWN * 1.2) return drawRaw(bytes, start, wire);
  const rest = el("button", { type: "button", class: "more" }, `show all ${formatNumber(bytes.length)} bytes`);
  const box = el("span", {}, drawRaw(bytes.subarray(0, RAW_SHOWN), start, wire), "… ", rest);
  rest.addEventListener("click", () => box.replaceChildren(...drawRaw(bytes, start, wire)));
  return [box];
}

function drawHex(bytes, start) {
  const lines = [];
  for (let i = 0; i < Math.min(bytes.length, 2048); i += 16) {
    const part = [...bytes.subarray(i, i + 16)];
    const codes = part
      .map((byte) => byte.toString(16).padStart(2, "0"))
      .join(" ")
      .padEnd(47);
    lines.push(
      `${(start + i).toString(16).padStart(6, "0")}  ${codes}  ${part.map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : "·")).join("")}`,
    );
  }
  if (bytes.length > 2048) lines.push(`… ${formatNumber(bytes.length - 2048)} more bytes`);
  return [lines.join("\n")];
}

function decodePayload(bytes, frame) {
  const [, , start, end, , separate] = frame;
  return utf8.decode(separate === undefined ? bytes.subarray(start, end) : decodeBase64(separate));
}

// Returns the numbers of the frames to show at first: all if they are few, else the marked ones and their neighbors.
function pickFrames(count, marked, everything) {
  if (everything || count <= ALL_FRAMES) return new Set(Array.from({ length: count }, (_, n) => n));
  const numbers = new Set([0, count - 1]);
  const nearest =
    marked.length <= MAX_MARKED ? marked : [...marked.slice(0, MAX_MARKED / 2), marked[marked.length - 1]];
  for (const n of nearest) for (let k = n - AROUND; k <= n + AROUND; k += 1) if (k >= 0 && k < count) numbers.add(k);
  if (!marked.length) for (let n = 0; n < 8; n += 1) numbers.add(n);
  return numbers;
}

function drawEvents(list, isWrong) {
  return list.map(([, text], at) =>
    el(
      "div",
      { class: isWrong && !at ? "event wrong" : "event" },
      el("span", { "aria-hidden": "true" }, "→ "),
      isWrong && !at && el("b", {}, "first wrong event: "),
      expandable(text, escapeNodes, 500),
    ),
  );
}

function makeTimeline(failure, wire, view, marks) {
  const placed = new Map();
  const loose = [];
  for (const event of failure.events || []) {
    if (event[0] === null) loose.push(event);
    else if (placed.has(event[0])) placed.get(event[0]).push(event);
    else placed.set(event[0], [event]);
  }
  const relevant = [...marks.keys()].sort((a, b) => a - b);
  const diverged = failure.diverged ?? null;
  const marked = diverged === null ? relevant : [diverged, ...relevant.filter((n) => n !== diverged)];
  const shown = pickFrames(wire.frames.length, marked, view.all);
  const rows = [];
  let gap = 0;
  const close = (before) => {
    if (!gap) return;
    const hidden = gap;
    rows.push(
      el(
        "tr",
        { class: "gap" },
        el(
          "td",
          { colspan: 5 },
          el(
            "button",
            {
              type: "button",
              class: "more",
              onclick: () => {
                view.all = true;
                view.redraw(`frame-${before - hidden}`);
              },
            },
            `${formatCount(hidden, "frame")} between`,
          ),
        ),
      ),
    );
    gap = 0;
  };
  wire.frames.forEach((frame, n) => {
    if (!shown.has(n)) {
      gap += 1;
      return;
    }
    close(n);
    rows.push(
      makeFrameRow(frame, n, {
        wire,
        view,
        differences: marks.get(n) || [],
        diverged: n === diverged,
        events: placed.get(n) || [],
        loose: n === diverged ? loose : [],
      }),
    );
  });
  close(wire.frames.length);
  const tail =
    diverged === null && loose.length
      ? [el("p", { class: "dim" }, "Events that no single frame explains"), drawEvents(loose.slice(0, 60), false)]
      : [];
  const table = el(
    "table",
    { class: `wire ${view.kind}` },
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        [
          "frame",
          "bytes",
          wire.times.length > 0 && "time",
          "read",
          view.kind === "payload" ? "event, payload, → events from the implementation" : "bytes",
        ]
          .filter(Boolean)
          .map((name) => el("th", { scope: "col" }, name)),
      ),
    ),
    el("tbody", {}, rows),
  );
  const whole = wire.frames.length
    ? [table]
    : [
        makeBox(
          "Bytes of the response",
          view.kind === "hex" ? drawHex(wire.bytes, 0) : drawRawPart(wire.bytes, 0, wire),
        ),
      ];
  return [...whole, ...tail.flat()];
}

function makeFrameRow(frame, n, options) {
  const { wire, view, differences, diverged, events, loose } = options;
  const [start, end, , , name] = frame;
  const slice = wire.bytes.subarray(start, end);
  const text = decodePayload(wire.bytes, frame);
  const body =
    view.kind === "raw"
      ? drawRawPart(slice, start, wire)
      : view.kind === "hex"
        ? drawHex(slice, start)
        : expandable(text);
  const label = [differences.length && "relevant frame", diverged && "first wrong event"].filter(Boolean);
  const classes = [differences.length && `relevant ${differences[0].color}`, diverged && "diverged"]
    .filter(Boolean)
    .join(" ");
  return el(
    "tr",
    { id: `frame-${n}`, class: classes || null, tabindex: "-1" },
    el(
      "th",
      { scope: "row" },
      String(n),
      label.length > 0 && el("span", { class: "off" }, `, ${label.join(", ")}`),
      differences.map(makeBadge),
    ),
    el("td", { class: "n" }, `${formatNumber(start)}`, el("small", {}, ` +${formatNumber(end - start)}`)),
    wire.times.length > 0 && el("td", { class: "n" }, formatTime(wire, start)),
    el("td", { class: "n" }, formatReads(wire, start, end)),
    el(
      "td",
      { class: "payload" },
      diverged && el("p", { class: "flag" }, "first wrong event"),
      el(
        "div",
        { class: "code" },
        view.kind === "payload" && name && [el("b", { class: "name" }, escapeNodes(name)), " "],
        body,
      ),
      view.kind === "payload" && drawEvents(events, false),
      view.kind === "payload" && loose.length > 0 && drawEvents(loose.slice(0, 1), true),
      view.kind === "payload" &&
        loose.length > 1 &&
        el(
          "details",
          {},
          el("summary", {}, `${formatCount(loose.length - 1, "later event")}`),
          drawEvents(loose.slice(1, 200), false),
        ),
      copyButton(text, `the payload of frame ${n}`),
    ),
  );
}

let showFrame = () => {};

function makeWireSection(failure, wire, differences) {
  const marks = new Map();
  for (const difference of differences)
    for (const n of difference.frames) marks.set(n, [...(marks.get(n) || []), difference]);
  const view = { kind: "payload", all: false, redraw: null };
  const box = el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Frames of the stream" });
  view.redraw = (target) => {
    box.replaceChildren(...makeTimeline(failure, wire, view, marks));
    const row = target && document.getElementById(target);
    if (row) {
      row.scrollIntoView({ block: "center" });
      row.focus();
    }
  };
  showFrame = (n) => {
    if (!document.getElementById(`frame-${n}`)) view.all = true;
    view.redraw(`frame-${n}`);
  };
  const kinds = { payload: "Payloads", raw: "Raw bytes", hex: "Hex" };
  const buttons = Object.entries(kinds).map(([kind, name]) =>
    el(
      "button",
      {
        type: "button",
        "aria-pressed": String(kind === view.kind),
        onclick: (event) => {
          view.kind = kind;
          for (const button of buttons) button.setAttribute("aria-pressed", String(button === event.currentTarget));
          view.redraw();
        },
      },
      name,
    ),
  );
  view.redraw();
  const cut = wire.shown < wire.size ? ` Only the first ${formatNumber(wire.shown)} bytes are on this page.` : "";
  const less = wire.frames.length < wire.count ? ` ${formatNumber(wire.frames.length)} frames are listed.` : "";
  const reads = wire.chunks ? formatCount(wire.reads, "read") : "one byte per read";
  const placed = failure.events
    ? " Each event is shown at the first frame that could have produced it; emission times are not recorded."
    : "";
  const framed = differences.filter(({ frames }) => frames.length);
  return makeSection(
    "Wire",
    el(
      "p",
      { class: "dim" },
      `${wire.framing}, ${formatCount(wire.count, "frame")}, ${formatCount(wire.size, "byte")}, ${reads}.${wire.broken ? " The stream was broken on purpose (a fault); these are the bytes that were sent." : ""}${cut}${less}${placed}`,
    ),
    el(
      "div",
      { class: "switch", role: "group", "aria-label": "Show frames as" },
      buttons,
      el(
        "button",
        {
          type: "button",
          onclick: () => {
            view.all = true;
            view.redraw();
          },
        },
        "All frames",
      ),
      copyButton(() => utf8.decode(wire.bytes), "of the response", "Copy body"),
      framed.map((difference) =>
        el(
          "span",
          { class: `key relevant ${difference.color}` },
          difference.number ? ["frames of ", makeBadge(difference)] : "relevant frame",
        ),
      ),
      failure.diverged !== undefined &&
        failure.diverged !== null &&
        el("span", { class: "key diverged" }, "first wrong event"),
    ),
    box,
  );
}
