// The run: what `data.py` wrote, with everything found by number.
//
// cases   [id, title, tags, delivery set]         grid    a letter a delivery for each implementation and case
// causes  {kind, i, what, verdict, f: failures}   failures {i, c, d: deliveries, words, checks, events, departed, …}
// about   by case                                 wires   by trial id

const run = JSON.parse(document.getElementById("data").textContent);
const LETTERS = "fehtwkpx"; // the worst first
const AT = Object.fromEntries([...LETTERS].map((letter, at) => [letter, at]));
const NAMES = { p: "pass", f: "fail", w: "warn", k: "known", t: "stale", x: "skipped", e: "faulted", h: "hang" };
const SIGNS = { p: "✓", f: "✗", w: "!", k: "K", t: "S", x: "–", e: "E", h: "H", m: "~" };
const LETTER = Object.fromEntries(Object.entries(NAMES).map(([letter, name]) => [name, letter]));

const cases = run.cases.map(([id, title, tags, set], number) => {
  const parts = id.split("/");
  return {
    id, title, number, tags, set: run.sets[set],
    api: parts.length > 1 ? parts[0] : "",
    topic: parts.slice(0, -1).join("/") || "cases",
    name: parts[parts.length - 1],
    text: `${id} ${title}`.toLowerCase(),
  };
});
const caseByid = new Map(cases.map((each) => [each.id, each]));
const failuresOf = new Map();
run.failures.forEach((failure, number) => {
  failure.number = number;
  const there = failuresOf.get(failure.c);
  if (there) there.push(failure);
  else failuresOf.set(failure.c, [failure]);
});
run.causes.forEach((cause) => cause.f.forEach((number) => { run.failures[number].cause = cause; }));
const inOrder = run.causes.flatMap((cause) => cause.f).map((number) => run.failures[number]);
for (const failure of run.failures) {
  const bugs = run.about[failure.c]?.guards || [];
  const said = [failure.cause?.what, ...failure.words, ...failure.also, ...bugs].join(" ");
  cases[failure.c].text += ` ${said.toLowerCase()}`;
}

// The letters of a case, one a delivery.
function letters(i, c) {
  const short = run.grid[i][c];
  const size = cases[c].set.length;
  return short.length === size ? short : short[0].repeat(size);
}

// How many trials of each verdict a case has, in the order of LETTERS; all cells are counted once.
const cells = run.grid.map((row) => row.map((short, c) => {
  const size = cases[c].set.length;
  const count = new Uint32Array(LETTERS.length);
  if (short.length !== size) count[AT[short[0]]] = size; // a letter that is none, of an absent trial, counts nothing
  else for (const letter of short) count[AT[letter]] += 1;
  return count;
}));

function added(into, count) {
  for (let at = 0; at < count.length; at += 1) into[at] += count[at];
  return into;
}

function spoken(count) {
  return [...LETTERS].filter((letter) => count[AT[letter]]).map((letter) => `${number(count[AT[letter]])} ${NAMES[letter]}`).join(", ") || "no trial";
}

function worst(count) {
  const at = count.findIndex((n) => n > 0);
  return at < 0 ? "." : LETTERS[at];
}

// How many trials of each verdict a failure stands for: in some deliveries the same difference only warns.
const numberOf = new Map(run.deliveries.map((name, at) => [name, at]));
for (const failure of run.failures) {
  const all = letters(failure.i, failure.c);
  failure.count = new Uint32Array(LETTERS.length);
  for (const name of failure.d) failure.count[AT[all[cases[failure.c].set.indexOf(numberOf.get(name))]]] += 1;
}

function trialId(c, delivery) {
  return delivery ? `${cases[c].id}@${delivery}` : cases[c].id;
}

function addressOf(c, delivery, i) {
  const path = trialId(c, delivery).split("/").map((part) => encodeURIComponent(part).replace(/%40/g, "@")).join("/");
  return `#case/${path}${run.impls.length > 1 && i !== undefined && i !== null ? `?i=${i}` : ""}`;
}

function failureAt(c, i, delivery) {
  return (failuresOf.get(c) || []).find((each) => each.i === i && each.d.includes(delivery));
}

// The failure that a case page shows when nothing more is asked for: an unexpected one, if there is any.
function firstFailure(c, i) {
  const there = (failuresOf.get(c) || []).filter((each) => i === null || each.i === i);
  return there.find((each) => each.cause?.kind === "unexpected") || there[0];
}

function sign(letter, words) {
  return el("span", { class: `sign v-${letter}`, title: words || NAMES[letter] }, SIGNS[letter] || "");
}
