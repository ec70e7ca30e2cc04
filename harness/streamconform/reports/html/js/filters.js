// Filters. They are in the address, so that a view can be shared.

const form = document.getElementById("filters");
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

function filtersAddress(changes) {
  const values = Object.entries({ ...filter, ...changes }).filter(([, value]) => value);
  return `#${new URLSearchParams(values)}`;
}

function listImpls() {
  const all = run.impls.map((_, i) => i);
  return all.includes(Number(filter.impl)) && filter.impl !== "" ? [Number(filter.impl)] : all;
}

// Applies the filters to every case, once for all lists.
function applyFilters() {
  const words = filter.q.toLowerCase().split(/\s+/).filter(Boolean);
  const tag = filter.tag ? run.tags.indexOf(filter.tag) : null;
  const impls = listImpls();
  const unexpected = new Set(run.causes.filter((cause) => cause.kind === "unexpected").flatMap((cause) => cause.f)
    .map((n) => run.failures[n]).filter((failure) => impls.includes(failure.i)).map((failure) => failure.c));
  const letter = LETTER[filter.verdict];
  selected = cases.map((testCase) => (!filter.api || testCase.api === filter.api)
    && (tag === null || testCase.tags.includes(tag))
    && words.every((word) => testCase.text.includes(word))
    && (!filter.verdict
      || (filter.verdict === "unexpected" ? unexpected.has(testCase.number) : impls.some((i) => cells[i][testCase.number][AT[letter]]))));
  const count = selected.filter(Boolean).length;
  const text = count === cases.length ? formatCount(count, "case") : `${formatNumber(count)} of ${formatCount(cases.length, "case")}`;
  document.getElementById("f-count").textContent = text;
}

function matchesFilters(failure) {
  if (!selected[failure.c] || !listImpls().includes(failure.i)) return false;
  if (!filter.verdict) return true;
  return filter.verdict === "unexpected" ? failure.cause?.kind === "unexpected" : failure.count[AT[LETTER[filter.verdict]]] > 0;
}

let timer = 0;
form.addEventListener("input", () => {
  for (const key of KEYS) filter[key] = form[key].value;
  drawLists();
  clearTimeout(timer); // browsers limit how often the address may change
  timer = setTimeout(() => history.replaceState(null, "", filtersAddress({})), 200);
});
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", (event) => {
  event.preventDefault();
  history.replaceState(null, "", "#");
  readFilters("");
  drawLists();
});
