// Filters. They are in the address, so that a view can be shared.
//
// The text is a query: words that a case has to contain, and fields (api:openai-chat, tag:thinking, verdict:fail, impl:NAME). A
// minus sign before either excludes its cases.

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
  fillSelect(form.tag, [["", "any"], ...[...tags].sort((a, b) => b[1] - a[1]).map(([at, n]) => [run.tags[at], `${escapeText(run.tags[at])} (${n})`])]);
  fillSelect(form.verdict, [["", "any"], ["unexpected", "fails the run"], ...verdicts.map(([letter, name]) => [name, `${LABELS[letter]} (${formatNumber(count(letter))})`])]);
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

// Returns the terms of a query, as {term, name, value, excluded}.
function parseQuery(text) {
  return text.toLowerCase().split(/\s+/).filter((word) => word && word !== "-").map((word) => {
    const excluded = word.startsWith("-");
    const term = excluded ? word.slice(1) : word;
    const [, name, value] = /^([a-z]+):(.+)$/.exec(term) || [];
    return { term, name, value, excluded };
  });
}

// Returns a predicate on cases for each term except `impl:` terms, which select columns.
function makeTests(terms) {
  return terms.filter(({ name }) => name !== "impl").map(({ term, name, value, excluded }) => {
    const test = FIELDS[name]?.(value) || ((testCase) => testCase.text.includes(term));
    return (testCase, impls) => test(testCase, impls) !== excluded;
  });
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
  const isNamed = (i) => terms.every(({ name, value, excluded }) => name !== "impl" || run.impls[i].name.toLowerCase().includes(value) !== excluded);
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
  unexpected = new Set(run.failures.filter((failure) => failsRun(failure) && impls.includes(failure.i)).map((failure) => failure.c));
  selected = cases.map((testCase) => (!filter.api || testCase.api === filter.api)
    && (tag === null || testCase.tags.includes(tag))
    && tests.every((matches) => matches(testCase, impls))
    && (!filter.verdict || hasVerdict(testCase, impls, filter.verdict)));
  const count = selected.filter(Boolean).length;
  const text = count === cases.length ? formatCount(count, "case") : `${formatNumber(count)} of ${formatCount(cases.length, "case")}`;
  document.getElementById("f-count").textContent = text;
}

function matchesFilters(failure) {
  if (!selected[failure.c] || !listImpls().includes(failure.i)) return false;
  return (!filter.verdict || failedWith(failure, filter.verdict))
    && terms.every(({ name, value, excluded }) => name !== "verdict" || failedWith(failure, value) !== excluded);
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
overview.addEventListener("click", (event) => { if (event.target.closest("a")) writeAddress(); }, true);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", (event) => {
  event.preventDefault();
  lastList = "#";
  history.replaceState(null, "", lastList);
  readFilters("");
  drawLists();
});
