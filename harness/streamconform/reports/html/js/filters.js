// Filters: they live in the address, so that a view can be sent to somebody.

const form = document.getElementById("filters");
const KEYS = ["q", "api", "tag", "verdict", "impl"];
const filter = Object.fromEntries(KEYS.map((key) => [key, ""]));
let meant = cases.map(() => true);

function options(select, rows) {
  select.replaceChildren(...rows.map(([value, words]) => el("option", { value }, words)));
}

function fillFilters() {
  const tally = (list) => {
    const count = new Map();
    for (const key of list) count.set(key, (count.get(key) || 0) + 1);
    return count;
  };
  const apis = tally(cases.map((each) => each.api));
  const tags = tally(cases.flatMap((each) => each.tags));
  const all = run.impls.flatMap((each) => Object.entries(each.counts));
  const count = (letter) => all.reduce((sum, [key, n]) => sum + (key === letter ? n : 0), 0);
  const verdicts = Object.entries(NAMES).filter(([letter]) => count(letter));
  options(form.api, [["", "any"], ...[...apis].map(([api, n]) => [api, `${legible(api || "none")} (${n})`])]);
  options(form.tag, [["", "any"], ...[...tags].sort((a, b) => b[1] - a[1]).map(([at, n]) => [run.tags[at], `${legible(run.tags[at])} (${n})`])]);
  options(form.verdict, [["", "any"], ["unexpected", "unexpected"], ...verdicts.map(([letter, name]) => [name, `${name} (${number(count(letter))})`])]);
  options(form.impl, [["", "all"], ...run.impls.map((each, i) => [String(i), each.name])]);
  if (run.impls.length < 2) document.getElementById("f-impl-label").hidden = true;
}

function readFilters(hash) {
  const asked = new URLSearchParams(hash);
  for (const key of KEYS) {
    filter[key] = asked.get(key) || "";
    if (form[key].value !== filter[key]) form[key].value = filter[key];
  }
}

function filtersAddress(changes) {
  const kept = Object.entries({ ...filter, ...changes }).filter(([, value]) => value);
  return `#${new URLSearchParams(kept)}`;
}

function shownImpls() {
  const all = run.impls.map((_, i) => i);
  return all.includes(Number(filter.impl)) && filter.impl !== "" ? [Number(filter.impl)] : all;
}

// Whether the filters mean each case; computed once for all lists.
function applyFilters() {
  const words = filter.q.toLowerCase().split(/\s+/).filter(Boolean);
  const tag = filter.tag ? run.tags.indexOf(filter.tag) : null;
  const impls = shownImpls();
  const unexpected = new Set(run.causes.filter((each) => each.kind === "unexpected").flatMap((each) => each.f)
    .map((n) => run.failures[n]).filter((each) => impls.includes(each.i)).map((each) => each.c));
  const letter = LETTER[filter.verdict];
  meant = cases.map((each) => (!filter.api || each.api === filter.api)
    && (tag === null || each.tags.includes(tag))
    && words.every((word) => each.text.includes(word))
    && (!filter.verdict
      || (filter.verdict === "unexpected" ? unexpected.has(each.number) : impls.some((i) => cells[i][each.number][AT[letter]]))));
  const count = meant.filter(Boolean).length;
  const words_ = count === cases.length ? counted(count, "case") : `${number(count)} of ${counted(cases.length, "case")}`;
  document.getElementById("f-count").textContent = words_;
}

function meansFailure(failure) {
  if (!meant[failure.c] || !shownImpls().includes(failure.i)) return false;
  if (!filter.verdict) return true;
  return filter.verdict === "unexpected" ? failure.cause?.kind === "unexpected" : failure.count[AT[LETTER[filter.verdict]]] > 0;
}

let waiting = 0;
form.addEventListener("input", () => {
  for (const key of KEYS) filter[key] = form[key].value;
  drawLists();
  clearTimeout(waiting); // addresses may change only so many times a second
  waiting = setTimeout(() => history.replaceState(null, "", filtersAddress({})), 200);
});
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", (event) => {
  event.preventDefault();
  history.replaceState(null, "", "#");
  readFilters("");
  drawLists();
});
