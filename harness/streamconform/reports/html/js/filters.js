// Filters. They are in the address, so that a view can be shared.
//
// The text is a query: words and "quoted texts" that a case has to contain, and keys (api:openai-chat, tag:thinking, verdict:fail,
// impl:NAME). A minus sign or an exclamation mark before any of them excludes its cases.

const overview = document.getElementById("overview");
const page = document.getElementById("page");
const form = document.getElementById("filters");
let lastList = "#"; // the address of the overview with its filters
const KEYS = ["q", "api", "tag", "verdict", "impl"];
const filter = Object.fromEntries(KEYS.map((key) => [key, ""]));
let selected = cases.map(() => true); // by case number

function fillSelect(select, rows) {
  select.replaceChildren(...rows.map(([value, label]) => el("option", { value }, label)));
}

function fillFilters() {
  const tally = (list) => {
    const count = new Map();
    for (const key of list) count.set(key, (count.get(key) || 0) + 1);
    return count;
  };
  const apis = tally(cases.map((testCase) => testCase.api));
  const tags = tally(cases.flatMap((testCase) => testCase.tags));
  const all = run.impls.flatMap((impl) => Object.entries(impl.counts));
  const count = (letter) => all.reduce((sum, [key, n]) => sum + (key === letter ? n : 0), 0);
  const verdicts = Object.entries(NAMES).filter(([letter]) => count(letter));
  fillSelect(form.api, [["", "any"], ...[...apis].map(([api, n]) => [api, `${escapeText(api || "none")} (${n})`])]);
  fillSelect(form.tag, [
    ["", "any"],
    ...[...tags].sort((a, b) => b[1] - a[1]).map(([at, n]) => [run.tags[at], `${escapeText(run.tags[at])} (${n})`]),
  ]);
  fillSelect(form.verdict, [
    ["", "any"],
    ["unexpected", "fails the run"],
    ...verdicts.map(([letter, name]) => [name, `${LABELS[letter]} (${formatNumber(count(letter))})`]),
  ]);
  fillSelect(form.impl, [["", "all"], ...run.impls.map((impl, i) => [String(i), impl.name])]);
  if (run.impls.length < 2) document.getElementById("f-impl-label").hidden = true;
}

function readFilters(hash) {
  const parameters = new URLSearchParams(hash);
  for (const key of KEYS) {
    filter[key] = parameters.get(key) || "";
    if (form[key].value !== filter[key]) form[key].value = filter[key];
  }
}

const FIELDS = {
  api: (value) => (testCase) => testCase.api.includes(value),
  tag: (value) => (testCase) => testCase.tags.some((tag) => run.tags[tag].toLowerCase() === value),
  verdict: (value) => (testCase, impls) => hasVerdict(testCase, impls, value),
};

// A quote that is not closed reaches to the end: it is still being typed. The start of a URL is not a key.
const TERM = /([-!]?)(?:([a-z]+):(?!\/\/))?(?:"([^"]*)"?|(\S+))/g;

// Returns the terms of a query, as {term, name, value, excluded}.
function parseQuery(text) {
  return [...text.toLowerCase().matchAll(TERM)]
    .map(([, sign, name, quoted, word]) => {
      const value = quoted ?? word;
      return { term: name ? `${name}:${value}` : value, name, value, excluded: sign !== "" };
    })
    .filter(({ term }) => term && term !== "-" && term !== "!");
}

// Returns a predicate on cases for each term except `impl:` terms, which select columns.
function makeTests(terms) {
  const none = () => () => false;
  return terms
    .filter(({ name }) => name !== "impl")
    .map(({ term, name, value, excluded }) => {
      const test = name ? (FIELDS[name] || none)(value) : (testCase) => testCase.text.includes(term);
      return (testCase, impls) => test(testCase, impls) !== excluded;
    });
}

const LISTED = 24; // known values in a message

// The values of each key, and whether a term's value may be a part of one.
const VALUES = {
  api: { values: [...new Set(cases.map((testCase) => testCase.api))].filter(Boolean), part: true },
  tag: { values: run.tags, part: false },
  verdict: { values: [...Object.values(NAMES), "unexpected"], part: false },
  impl: { values: run.impls.map((impl) => impl.name), part: true },
};

// Returns what is wrong with a term: an unknown key, or a value that nothing in this run has.
function explainTerm({ term, name, value }) {
  if (!name) return null;
  if (!VALUES[name])
    return `Unknown key \u201c${name}\u201d. Keys: ${Object.keys(VALUES).join(", ")}. To search for this text, quote it: "${term}".`;
  const { values, part } = VALUES[name];
  const lower = values.map((known) => known.toLowerCase());
  if (part ? lower.some((known) => known.includes(value)) : lower.includes(value)) return null;
  const similar = values.filter((_, at) => lower[at].includes(value));
  const listed = (similar.length ? similar : values).slice(0, LISTED);
  const more = (similar.length || values.length) - listed.length;
  return `Nothing in this run has ${name}:${value}. Known: ${listed.join(", ")}${more ? ` and ${more} more` : ""}.`;
}

let unexpected = new Set(); // the cases in which a selected implementation has a failure that fails the run

function hasVerdict(testCase, impls, name) {
  if (name === "unexpected") return unexpected.has(testCase.number);
  return LETTER[name] !== undefined && impls.some((i) => cells[i][testCase.number][AT[LETTER[name]]] > 0);
}

function filtersAddress(changes) {
  const values = Object.entries({ ...filter, ...changes }).filter(([, value]) => value);
  return `#${new URLSearchParams(values)}`;
}

let terms = []; // of the query
let shownImpls = run.impls.map((_, i) => i);

function listImpls() {
  return shownImpls;
}

function selectImpls() {
  const isNamed = (i) =>
    terms.every(
      ({ name, value, excluded }) => name !== "impl" || run.impls[i].name.toLowerCase().includes(value) !== excluded,
    );
  const all = run.impls.map((_, i) => i).filter(isNamed);
  return all.includes(Number(filter.impl)) && filter.impl !== "" ? [Number(filter.impl)] : all;
}

// Applies the filters to every case, once for all lists.
function applyFilters() {
  terms = parseQuery(filter.q);
  shownImpls = selectImpls();
  const tests = makeTests(terms);
  const tag = filter.tag ? run.tags.indexOf(filter.tag) : null;
  const impls = listImpls();
  unexpected = new Set(
    run.failures.filter((failure) => failsRun(failure) && impls.includes(failure.i)).map((failure) => failure.c),
  );
  selected = cases.map(
    (testCase) =>
      (!filter.api || testCase.api === filter.api) &&
      (tag === null || testCase.tags.includes(tag)) &&
      tests.every((matches) => matches(testCase, impls)) &&
      (!filter.verdict || hasVerdict(testCase, impls, filter.verdict)),
  );
  const count = selected.filter(Boolean).length;
  const text =
    count === cases.length
      ? formatCount(count, "case")
      : `${formatNumber(count)} of ${formatCount(cases.length, "case")}`;
  document.getElementById("f-count").textContent = text;
  const note = document.getElementById("f-note");
  const problems = terms.map(explainTerm).filter(Boolean);
  note.hidden = !problems.length;
  note.textContent = problems.map(escapeText).join(" ");
}

function matchesFilters(failure) {
  if (!selected[failure.c] || !listImpls().includes(failure.i)) return false;
  return (
    (!filter.verdict || failedWith(failure, filter.verdict)) &&
    terms.every(({ name, value, excluded }) => name !== "verdict" || failedWith(failure, value) !== excluded)
  );
}

function failedWith(failure, verdict) {
  return verdict === "unexpected" ? failsRun(failure) : failure.count[AT[LETTER[verdict]]] > 0;
}

let timer = 0;
form.addEventListener("input", () => {
  for (const key of KEYS) filter[key] = form[key].value;
  lastList = filtersAddress({}); // the target of the link back, even before the address has changed
  drawLists();
  clearTimeout(timer); // browsers limit how often the address may change
  timer = setTimeout(writeAddress, 200);
});

function writeAddress() {
  clearTimeout(timer);
  if (page.hidden) history.replaceState(null, "", lastList);
}

// The list's address must be up to date before a link leaves the list, so that the browser's Back button returns to it.
overview.addEventListener(
  "click",
  (event) => {
    if (event.target.closest("a")) writeAddress();
  },
  true,
);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", (event) => {
  event.preventDefault();
  lastList = "#";
  history.replaceState(null, "", lastList);
  readFilters("");
  drawLists();
});
