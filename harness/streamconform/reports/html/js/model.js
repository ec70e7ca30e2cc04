// The run: the value that `data.py` made, with lookups by number.
//
// signs   the mark for each letter
// cases   [id, title, tags, delivery set]         grid    one letter per delivery, for each implementation and case
// causes  {kind, i, what, verdict, f: failures}   failures {i, c, d: deliveries, lines, checks, events, diverged, …}
// about   by case                                 wires   by trial id; their bodies by number in `bodies`

document.getElementById("main").setAttribute("aria-busy", "true");
if (!window.DecompressionStream) {
  document.getElementById("too-old").hidden = false;
  await new Promise(() => {}); // the rest of the script needs the data, so it never runs
}
const packed = new Blob([decodeBase64(document.getElementById("data").textContent)]).stream();
const run = JSON.parse(await new Response(packed.pipeThrough(new DecompressionStream("deflate"))).text());
const LETTERS = "fehtwkpx"; // worst first
const AT = Object.fromEntries([...LETTERS].map((letter, at) => [letter, at]));
const NAMES = { p: "pass", f: "fail", w: "warn", k: "known", t: "stale", x: "skipped", e: "faulted", h: "hang" };
const LABELS = { ...NAMES, t: "fixed (remove from list)", e: "adapter error", h: "timed out" }; // for display; addresses contain NAMES
const SIGNS = { ...run.signs, m: "~" };
const LETTER = Object.fromEntries(Object.entries(NAMES).map(([letter, name]) => [name, letter]));

const cases = run.cases.map(([id, title, tags, set], number) => {
  const parts = id.split("/");
  return {
    id,
    title,
    number,
    tags,
    set: run.sets[set],
    api: parts.length > 1 ? parts[0] : "",
    topic: parts.slice(0, -1).join("/") || "cases",
    name: parts[parts.length - 1],
    text: `${id} ${title}`.toLowerCase(),
  };
});
const caseById = new Map(cases.map((testCase) => [testCase.id, testCase]));
const failuresOf = new Map();
run.failures.forEach((failure, number) => {
  failure.number = number;
  const list = failuresOf.get(failure.c);
  if (list) list.push(failure);
  else failuresOf.set(failure.c, [failure]);
});
for (const cause of run.causes) {
  for (const number of cause.f) run.failures[number].cause = cause;
}
const inOrder = run.causes.flatMap((cause) => cause.f).map((number) => run.failures[number]);
for (const failure of run.failures) {
  const bugs = run.about[failure.c]?.guards || [];
  const searchable = [failure.cause?.what, ...failure.lines, ...failure.also, ...bugs].join(" ");
  cases[failure.c].text += ` ${searchable.toLowerCase()}`;
}

// Returns the letters of a case, one per delivery.
function listLetters(i, c) {
  const short = run.grid[i][c];
  const size = cases[c].set.length;
  return short.length === size ? short : short[0].repeat(size);
}

// The number of trials of each verdict for each implementation and case, in the order of LETTERS; counted once.
const cells = run.grid.map((row) =>
  row.map((short, c) => {
    const size = cases[c].set.length;
    const count = new Uint32Array(LETTERS.length);
    if (short.length !== size)
      count[AT[short[0]]] = size; // "." (no such trial) has no index, and the assignment has no effect
    else for (const letter of short) count[AT[letter]] += 1;
    return count;
  }),
);

function addCounts(into, count) {
  for (let at = 0; at < count.length; at += 1) into[at] += count[at];
  return into;
}

function describeCounts(count) {
  const describe = (number, letter) =>
    letter === "e" ? formatCount(number, LABELS.e) : `${formatNumber(number)} ${LABELS[letter]}`;
  return (
    [...LETTERS]
      .filter((letter) => count[AT[letter]])
      .map((letter) => describe(count[AT[letter]], letter))
      .join(", ") || "no trial"
  );
}

function findWorst(count) {
  const at = count.findIndex((n) => n > 0);
  return at < 0 ? "." : LETTERS[at];
}

// The number of trials of each verdict that a failure represents: in some deliveries the same difference is only a warning.
const numberOf = new Map(run.deliveries.map((name, at) => [name, at]));
for (const failure of run.failures) {
  const all = listLetters(failure.i, failure.c);
  failure.count = new Uint32Array(LETTERS.length);
  for (const name of failure.d) failure.count[AT[all[cases[failure.c].set.indexOf(numberOf.get(name))]]] += 1;
}

// Returns the wire of a trial with its bytes, frames as [start, end, payload start, payload end, event, payload], and the offsets at
// which reads began; undefined if it is not on the page.
function findWire(id) {
  const wire = run.wires[id];
  if (!wire) return undefined;
  const body = run.bodies[wire.body];
  let at = 0;
  const frames = body.frames.map(([gap, size, before, after, ...rest]) => {
    const start = at + gap;
    at = start + size;
    return before === null ? [start, at, null, null, ...rest] : [start, at, start + before, at - after, ...rest];
  });
  let offset = 0;
  const chunks = wire.chunks?.map((size) => {
    offset += size;
    return offset - size;
  });
  const bytes = body.text === undefined ? decodeBase64(body.base64) : new TextEncoder().encode(body.text);
  return { ...body, ...wire, frames, chunks, bytes };
}

function trialId(c, delivery) {
  return delivery ? `${cases[c].id}@${delivery}` : cases[c].id;
}

function addressOf(c, delivery, i) {
  const path = trialId(c, delivery)
    .split("/")
    .map((part) => encodeURIComponent(part).replace(/%40/g, "@"))
    .join("/");
  return `#case/${path}${run.impls.length > 1 && i !== undefined && i !== null ? `?i=${i}` : ""}`;
}

function findFailure(c, i, delivery) {
  return (failuresOf.get(c) || []).find((failure) => failure.i === i && failure.d.includes(delivery));
}

// Returns whether a failure fails the run; a cause may have warnings too.
function failsRun(failure) {
  return failure.cause?.kind === "unexpected" && (run.strict || failure.verdict !== "warn");
}

// Returns the failure that a case page shows by default: one that fails the run, if there is any.
function findFirstFailure(c, i) {
  const list = (failuresOf.get(c) || []).filter((failure) => i === null || failure.i === i);
  return list.find(failsRun) || list[0];
}

function makeSign(letter, label) {
  return el("span", { class: `sign v-${letter}`, title: label || LABELS[letter] }, SIGNS[letter] || "");
}
