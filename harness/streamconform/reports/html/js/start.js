// What is shown follows from the address: the first page with its filters, or the page of a case.

const overview = document.getElementById("overview");
const page = document.getElementById("page");
const titleAtFirst = document.title;
let lastList = "#";
let scrolled = 0;

function drawLists() {
  applyFilters();
  drawCauses();
  drawTags();
  drawCases();
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// The case, delivery and implementation of an address; null where it names no case of this run.
function asked(hash) {
  const found = /^#case\/([^?]*)(?:\?i=(\d+))?$/.exec(hash);
  if (!found) return null;
  const [id, delivery] = decoded(found[1]).split(/@(?=[^@]*$)/);
  const there = caseByid.get(id) || caseByid.get(decoded(found[1]));
  if (!there) return { missing: decoded(found[1]) };
  const i = found[2] !== undefined && run.impls[Number(found[2])] ? Number(found[2]) : run.impls.length === 1 ? 0 : null;
  const named = there.id === id && delivery !== undefined ? delivery : null;
  if (named !== null && i !== null) return { c: there.number, delivery: named, i };
  const first = named === null ? firstFailure(there.number, i) : (failuresOf.get(there.number) || []).find((each) => each.d.includes(named));
  if (first) return { c: there.number, delivery: named ?? first.d[0], i: first.i };
  return { c: there.number, delivery: named, i };
}

function show() {
  const wanted = asked(location.hash);
  const wasCase = !page.hidden;
  if (wanted) {
    if (!wasCase) scrolled = window.scrollY;
    overview.hidden = true;
    page.hidden = false;
    if (wanted.missing !== undefined) {
      page.replaceChildren(el("p", {}, el("a", { href: lastList }, "← All results")), el("h1", { tabindex: "-1", id: "case-title" }, "No such case in this run"), el("p", {}, el("code", {}, visible(wanted.missing))));
    } else page.replaceChildren(...casePage(wanted.c, wanted.delivery, wanted.i));
    const title = document.getElementById("case-title");
    document.title = `${title.textContent} · streamconform`;
    window.scrollTo(0, 0);
    title.focus({ preventScroll: true });
    return;
  }
  overview.hidden = false;
  page.hidden = true;
  page.replaceChildren();
  document.title = titleAtFirst;
  lastList = location.hash || "#";
  readFilters(location.hash.slice(1));
  drawLists();
  if (wasCase) {
    window.scrollTo(0, scrolled);
    document.getElementById("main").focus({ preventScroll: true });
  }
}

const THEMES = ["system", "light", "dark"];

function stored(value) {
  try {
    if (value === undefined) return localStorage.getItem("streamconform-theme");
    localStorage.setItem("streamconform-theme", value);
  } catch { /* a page opened from disk may not be given any */ }
  return value;
}

function setTheme(name) {
  if (name === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  document.getElementById("theme").textContent = `Theme: ${name}`;
}

let theme = THEMES.includes(stored()) ? stored() : "system";
setTheme(theme);
document.getElementById("theme").addEventListener("click", () => {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  stored(theme);
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
fillFilters();
drawSince();
show();
