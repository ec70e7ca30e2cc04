// The matrix: a column per implementation, a row per capability, then per topic and case.

const TAGS_SHOWN = 24;
const CASES_AT_ONCE = 200;
const FEW = 40; // topics are unfolded at first if there are at most this many cases
const unfolded = new Set();

function makeHead(what) {
  return el(
    "thead",
    {},
    el(
      "tr",
      {},
      el("th", { scope: "col" }, what),
      listImpls().map((i) => el("th", { scope: "col" }, run.impls[i].name)),
    ),
  );
}

function isJudged(count) {
  return count.some((n, at) => n > 0 && LETTERS[at] !== "x");
}

// Returns the text of a cell: failures first, then passes. Color is never the only sign.
function describeCell(count) {
  if (!isJudged(count)) return count[AT.x] ? "skipped" : "";
  const wrong = [..."fehtwk"]
    .filter((letter) => count[AT[letter]])
    .map((letter) => `${formatNumber(count[AT[letter]])} ${SHORT_LABELS[letter]}`);
  if (wrong.length) return wrong.slice(0, 2).join(", ") + (wrong.length > 2 ? " …" : "");
  return `✓ ${formatNumber(count[AT.p])}${count[AT.x] ? `, ${formatNumber(count[AT.x])} skipped` : ""}`;
}

// Returns the verdicts' shares of the judged trials as a strip below a cell. It is a background image: thousands of cells cannot have
// elements of their own.
function makeStrip(count) {
  const parts = [...(isJudged(count) ? "pwkthef" : "x")].filter((letter) => count[AT[letter]]);
  const total = parts.reduce((sum, letter) => sum + count[AT[letter]], 0);
  const shares = parts.map((letter) => Math.max(0.03, count[AT[letter]] / total)); // a rare failure stays visible
  const all = shares.reduce((sum, share) => sum + share, 0);
  let at = 0;
  const stops = parts.map((letter, n) => {
    const from = at;
    at += (100 * shares[n]) / all;
    return `var(--b-${letter}) ${from.toFixed(1)}% ${at.toFixed(1)}%`;
  });
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

const SHORT_LABELS = { ...LABELS, t: "fixed" };
const countOf = new WeakMap();

function makeCell(count, address) {
  const shown = describeCell(count);
  if (!shown) return el("td", { class: "nil" }, el("span", { class: "off" }, "no trial"));
  const box = el("td", { class: `cell v-${findWorst(count)}` }, address ? el("a", { href: address }, shown) : shown);
  box.style.backgroundImage = makeStrip(count);
  countOf.set(box, count);
  return box;
}

document.getElementById("overview").addEventListener("mouseover", (event) => {
  const over = event.target.closest("td.cell");
  if (over && !over.title) over.title = describeCounts(countOf.get(over));
});

function drawTags() {
  const impls = listImpls();
  const sums = run.tags.map(() => impls.map(() => new Uint32Array(LETTERS.length)));
  const sizes = run.tags.map(() => 0);
  for (const testCase of cases) {
    if (!selected[testCase.number]) continue;
    for (const tag of testCase.tags) {
      sizes[tag] += 1;
      for (const [column, i] of impls.entries()) addCounts(sums[tag][column], cells[i][testCase.number]);
    }
  }
  const vendor = (tag) => run.tags[tag].startsWith("vendor-");
  const order = run.tags
    .map((_, tag) => tag)
    .filter((tag) => sizes[tag])
    .sort((a, b) => vendor(a) - vendor(b) || sizes[b] - sizes[a]);
  const judged = order.filter((tag) => sums[tag].some(isJudged));
  const shown = open.has("tags")
    ? [...judged, ...order.filter((tag) => !judged.includes(tag))]
    : judged.slice(0, TAGS_SHOWN);
  const rows = shown.map((tag) =>
    el(
      "tr",
      {},
      el(
        "th",
        { scope: "row" },
        el("a", { href: filtersAddress({ tag: run.tags[tag] }) }, escapeNodes(run.tags[tag].replaceAll("_", " "))),
        el("small", {}, formatCount(sizes[tag], "case")),
      ),
      impls.map((i, column) =>
        makeCell(
          sums[tag][column],
          filtersAddress({ tag: run.tags[tag], impl: run.impls.length > 1 ? String(i) : "" }),
        ),
      ),
    ),
  );
  const hidden = order.length - shown.length;
  const allSkipped = order.length - judged.length;
  const more =
    hidden > 0 &&
    el(
      "button",
      {
        type: "button",
        class: "more",
        onclick: () => {
          open.add("tags");
          drawTags();
        },
      },
      `show ${formatCount(hidden, "more tag")}${allSkipped ? ` (${allSkipped === hidden ? "all" : formatNumber(allSkipped)} skipped)` : ""}`,
    );
  const table = el(
    "table",
    { class: impls.length > 6 ? "matrix many" : "matrix" },
    makeHead("capability"),
    el("tbody", {}, rows),
  );
  document
    .getElementById("by-tag")
    .replaceChildren(
      ...[
        rows.length
          ? table
          : el(
              "p",
              { class: "dim" },
              run.tags.length ? "No case matches the filters." : "No case has a tag in this suite.",
            ),
        more,
      ].filter(Boolean),
    );
}

function drawCases() {
  const impls = listImpls();
  const topics = new Map();
  for (const testCase of cases) {
    if (!selected[testCase.number]) continue;
    const list = topics.get(testCase.topic);
    if (list) list.push(testCase);
    else topics.set(testCase.topic, [testCase]);
  }
  const total = [...topics.values()].reduce((sum, list) => sum + list.length, 0);
  const rows = [];
  let hidden = 0;
  for (const [topic, list] of topics) {
    const shown = total <= FEW !== unfolded.has(topic);
    const sums = impls.map((i) =>
      list.reduce((sum, testCase) => addCounts(sum, cells[i][testCase.number]), new Uint32Array(LETTERS.length)),
    );
    if (!sums.some(isJudged) && !open.has("unjudged") && total > FEW) {
      hidden += list.length;
      continue;
    }
    rows.push(
      el(
        "tr",
        { class: "topic" },
        el(
          "th",
          { scope: "rowgroup" },
          el(
            "button",
            {
              type: "button",
              class: "fold",
              "aria-expanded": String(shown),
              onclick: () => {
                toggleTopic(topic);
              },
            },
            escapeNodes(topic),
          ),
          el("small", {}, formatCount(list.length, "case")),
        ),
        sums.map((count) => makeCell(count)),
      ),
    );
    if (!shown) continue;
    const room = open.has(`cases ${topic}`) ? list.length : CASES_AT_ONCE;
    rows.push(...list.slice(0, room).map((testCase) => makeCaseRow(testCase, impls)));
    if (list.length > room) {
      rows.push(
        el(
          "tr",
          {},
          el(
            "td",
            { colspan: impls.length + 1 },
            el(
              "button",
              {
                type: "button",
                class: "more",
                onclick: () => {
                  open.add(`cases ${topic}`);
                  drawCases();
                },
              },
              `show ${formatNumber(list.length - room)} more`,
            ),
          ),
        ),
      );
    }
  }
  const more =
    hidden > 0 &&
    el(
      "button",
      {
        type: "button",
        class: "more",
        onclick: () => {
          open.add("unjudged");
          drawCases();
        },
      },
      `show ${formatCount(hidden, "case")} in topics with only skipped trials`,
    );
  const table = el(
    "table",
    { class: impls.length > 6 ? "matrix many" : "matrix" },
    makeHead("case"),
    el("tbody", {}, rows),
  );
  document
    .getElementById("by-case")
    .replaceChildren(
      ...[total ? table : el("p", { class: "dim" }, "No case matches the filters."), more].filter(Boolean),
    );
}

function toggleTopic(topic) {
  if (unfolded.has(topic)) unfolded.delete(topic);
  else unfolded.add(topic);
  drawCases();
  const button = [...document.querySelectorAll("#by-case .fold")].find(
    (fold) => fold.textContent === escapeText(topic),
  );
  button?.focus();
}

function makeCaseRow(testCase, impls) {
  return el(
    "tr",
    {},
    el(
      "th",
      { scope: "row" },
      el("a", { href: addressOf(testCase.number, "", null), class: "id" }, escapeNodes(testCase.name)),
      testCase.title && el("small", {}, escapeNodes(testCase.title)),
    ),
    impls.map((i) => {
      const failure = findFirstFailure(testCase.number, i);
      return makeCell(cells[i][testCase.number], addressOf(testCase.number, failure?.d[0] || "", i));
    }),
  );
}
