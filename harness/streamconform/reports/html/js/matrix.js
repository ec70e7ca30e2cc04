// The matrix: implementations in columns; capabilities, then topics and their cases, in rows.

const TAGS_SHOWN = 24;
const CASES_AT_ONCE = 200;
const FEW = 40;
const unfolded = new Set();

function head(what) {
  return el("thead", {}, el("tr", {}, el("th", { scope: "col" }, what),
    shownImpls().map((i) => el("th", { scope: "col" }, run.impls[i].name))));
}

function isJudged(count) {
  return count.some((n, at) => n > 0 && LETTERS[at] !== "x");
}

// What a cell says: what is wrong first, then what is right; never a colour alone.
function words(count) {
  if (!isJudged(count)) return count[AT.x] ? "skipped" : "";
  const wrong = [..."fehtwk"].filter((letter) => count[AT[letter]]).map((letter) => `${number(count[AT[letter]])} ${NAMES[letter]}`);
  if (wrong.length) return wrong.slice(0, 2).join(", ") + (wrong.length > 2 ? " …" : "");
  return `✓ ${number(count[AT.p])}${count[AT.x] ? `, ${number(count[AT.x])} skipped` : ""}`;
}

// The verdicts' shares as a strip below a cell: a background, because there are thousands of cells.
function strip(count) {
  const total = count.reduce((sum, n) => sum + n, 0);
  const parts = [..."pwkthefx"].filter((letter) => count[AT[letter]]);
  const shares = parts.map((letter) => Math.max(0.03, count[AT[letter]] / total)); // a rare failure is seen too
  const all = shares.reduce((sum, share) => sum + share, 0);
  let at = 0;
  const stops = parts.map((letter, n) => {
    const from = at;
    at += (100 * shares[n]) / all;
    return `var(--b-${letter}) ${from.toFixed(1)}% ${at.toFixed(1)}%`;
  });
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

const countOf = new WeakMap();

function cell(count, address) {
  const shown = words(count);
  if (!shown) return el("td", { class: "nil" }, el("span", { class: "off" }, "no trial"));
  const made = el("td", { class: `cell v-${worst(count)}` }, address ? el("a", { href: address }, shown) : shown);
  made.style.backgroundImage = strip(count);
  countOf.set(made, count);
  return made;
}

document.getElementById("overview").addEventListener("mouseover", (event) => {
  const over = event.target.closest("td.cell");
  if (over && !over.title) over.title = spoken(countOf.get(over));
});

function drawTags() {
  const impls = shownImpls();
  const sums = run.tags.map(() => impls.map(() => new Uint32Array(LETTERS.length)));
  const sizes = run.tags.map(() => 0);
  for (const each of cases) {
    if (!meant[each.number]) continue;
    for (const tag of each.tags) {
      sizes[tag] += 1;
      impls.forEach((i, column) => added(sums[tag][column], cells[i][each.number]));
    }
  }
  const vendor = (tag) => run.tags[tag].startsWith("vendor-");
  const order = run.tags.map((_, tag) => tag).filter((tag) => sizes[tag])
    .sort((a, b) => vendor(a) - vendor(b) || sizes[b] - sizes[a]);
  const judged = order.filter((tag) => sums[tag].some(isJudged));
  const shown = open.has("tags") ? [...judged, ...order.filter((tag) => !judged.includes(tag))] : judged.slice(0, TAGS_SHOWN);
  const rows = shown.map((tag) => el("tr", {},
    el("th", { scope: "row" }, el("a", { href: filtersAddress({ tag: run.tags[tag] }) }, visible(run.tags[tag].replaceAll("_", " "))),
      el("small", {}, counted(sizes[tag], "case"))),
    impls.map((i, column) => cell(sums[tag][column], filtersAddress({ tag: run.tags[tag], impl: run.impls.length > 1 ? String(i) : "" })))));
  const more = order.length > shown.length && el("button", { type: "button", class: "more", onclick: () => { open.add("tags"); drawTags(); } },
    `show ${counted(order.length - shown.length, "more tag")}${judged.length < order.length ? `, of ${number(order.length - judged.length)} nothing was judged` : ""}`);
  const table = el("table", { class: impls.length > 6 ? "matrix many" : "matrix" }, head("capability"), el("tbody", {}, rows));
  document.getElementById("by-tag").replaceChildren(...[rows.length ? table : el("p", { class: "dim" }, run.tags.length ? "No case is meant." : "No case has a tag that is known here."), more].filter(Boolean));
}

function drawCases() {
  const impls = shownImpls();
  const topics = new Map();
  for (const each of cases) {
    if (!meant[each.number]) continue;
    const there = topics.get(each.topic);
    if (there) there.push(each);
    else topics.set(each.topic, [each]);
  }
  const total = [...topics.values()].reduce((sum, list) => sum + list.length, 0);
  const rows = [];
  let hidden = 0;
  for (const [topic, list] of topics) {
    const shown = (total <= FEW) !== unfolded.has(topic);
    const sums = impls.map((i) => list.reduce((sum, each) => added(sum, cells[i][each.number]), new Uint32Array(LETTERS.length)));
    if (!sums.some(isJudged) && !open.has("unjudged") && total > FEW) { hidden += list.length; continue; }
    rows.push(el("tr", { class: "topic" },
      el("th", { scope: "rowgroup" }, el("button", {
        type: "button", class: "fold", "aria-expanded": String(shown),
        onclick: () => { toggle(topic); },
      }, visible(topic)), el("small", {}, counted(list.length, "case"))),
      sums.map((count) => cell(count))));
    if (!shown) continue;
    const room = open.has(`cases ${topic}`) ? list.length : CASES_AT_ONCE;
    rows.push(...list.slice(0, room).map((each) => row(each, impls)));
    if (list.length > room) {
      rows.push(el("tr", {}, el("td", { colspan: impls.length + 1 }, el("button", {
        type: "button", class: "more", onclick: () => { open.add(`cases ${topic}`); drawCases(); },
      }, `show ${number(list.length - room)} more`))));
    }
  }
  const more = hidden > 0 && el("button", { type: "button", class: "more", onclick: () => { open.add("unjudged"); drawCases(); } },
    `show ${counted(hidden, "case")} in topics of which nothing was judged`);
  const table = el("table", { class: impls.length > 6 ? "matrix many" : "matrix" }, head("case"), el("tbody", {}, rows));
  document.getElementById("by-case").replaceChildren(...[total ? table : el("p", { class: "dim" }, "No case is meant: clear a filter."), more].filter(Boolean));
}

function toggle(topic) {
  if (unfolded.has(topic)) unfolded.delete(topic);
  else unfolded.add(topic);
  drawCases();
  const again = [...document.querySelectorAll("#by-case .fold")].find((each) => each.textContent === legible(topic));
  again?.focus();
}

function row(each, impls) {
  return el("tr", {},
    el("th", { scope: "row" }, el("a", { href: addressOf(each.number, "", null), class: "id" }, visible(each.name)), each.title && el("small", {}, visible(each.title))),
    impls.map((i) => {
      const failure = firstFailure(each.number, i);
      return cell(cells[i][each.number], addressOf(each.number, failure?.d[0] || "", i));
    }));
}
