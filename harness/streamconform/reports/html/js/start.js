// The address decides what is shown: the overview with its filters, or the page of a case.

const overviewTitle = document.title;
let scrollPosition = 0; // of the overview, restored on the way back

function drawLists() {
  applyFilters();
  drawCauses();
  drawTags();
  drawCases();
}

function decodeAddress(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// Returns the case, delivery and implementation of an address; null for the overview's address.
function parseAddress(hash) {
  const match = /^#case\/([^?]*)(?:\?i=(\d+))?$/.exec(hash);
  if (!match) return null;
  const [id, delivery] = decodeAddress(match[1]).split(/@(?=[^@]*$)/);
  const testCase = caseById.get(id) || caseById.get(decodeAddress(match[1]));
  if (!testCase) return { missing: decodeAddress(match[1]) };
  const i =
    match[2] !== undefined && run.impls[Number(match[2])] ? Number(match[2]) : run.impls.length === 1 ? 0 : null;
  const requested = testCase.id === id && delivery !== undefined ? delivery : null;
  if (requested !== null && i !== null) return { c: testCase.number, delivery: requested, i };
  const first =
    requested === null
      ? findFirstFailure(testCase.number, i)
      : (failuresOf.get(testCase.number) || []).find((failure) => failure.d.includes(requested));
  if (first) return { c: testCase.number, delivery: requested ?? first.d[0], i: first.i };
  return { c: testCase.number, delivery: requested, i };
}

function show() {
  const target = parseAddress(location.hash);
  const wasCase = !page.hidden;
  if (target) {
    if (!wasCase) scrollPosition = window.scrollY;
    overview.hidden = true;
    page.hidden = false;
    if (target.missing !== undefined) {
      page.replaceChildren(
        el("p", {}, el("a", { href: lastList }, "← All results")),
        el("h1", { tabindex: "-1", id: "case-title" }, "No such case in this run"),
        el("p", {}, el("code", {}, escapeNodes(target.missing))),
      );
    } else page.replaceChildren(...makeCasePage(target.c, target.delivery, target.i));
    const title = document.getElementById("case-title");
    document.title = `${title.textContent} · streamconform`;
    window.scrollTo(0, 0);
    title.focus({ preventScroll: true });
    return;
  }
  overview.hidden = false;
  page.hidden = true;
  page.replaceChildren();
  document.title = overviewTitle;
  lastList = location.hash || "#";
  const cause = /^#cause\/(\d+)$/.exec(location.hash);
  readFilters(cause ? "" : location.hash.slice(1));
  drawLists();
  if (cause) showCause(Number(cause[1]));
  else if (wasCase) {
    window.scrollTo(0, scrollPosition);
    document.getElementById("main").focus({ preventScroll: true });
  }
}

const THEMES = ["system", "light", "dark"];

function storedTheme(value) {
  try {
    if (value === undefined) return localStorage.getItem("streamconform-theme");
    localStorage.setItem("streamconform-theme", value);
  } catch {
    /* a page opened from disk may have no storage */
  }
  return value;
}

function setTheme(name) {
  if (name === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  document.getElementById("theme").textContent = `Theme: ${name}`;
}

let theme = THEMES.includes(storedTheme()) ? storedTheme() : "system";
setTheme(theme);
document.getElementById("theme").addEventListener("click", () => {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  storedTheme(theme);
  setTheme(theme);
});

document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && !typing && page.hidden) {
    event.preventDefault();
    form.q.focus();
  }
  if (event.key === "Escape" && !page.hidden) location.hash = lastList;
});
window.addEventListener("hashchange", show);
document.getElementById("drawn").hidden = false; // everything that is empty without this script
fillFilters();
drawSince();
show();
document.getElementById("main").setAttribute("aria-busy", "false");
