// The overview: causes, warnings, known failures, skipped trials, and changes since an earlier run.

const CAUSES_SHOWN = 10;
const EXAMPLES = 3;
const open = new Set(); // keys of the lists that are shown in full

function formatDeliveries(failure) {
  const all = listLetters(failure.i, failure.c).replaceAll(".", "").length;
  if (!failure.d[0]) return "";
  if (failure.d.length === all && all > 2) return `all ${all} deliveries`;
  const shown = failure.d.slice(0, 4).map(escapeText).join(", ");
  return failure.d.length > 4 ? `${shown} and ${failure.d.length - 4} more` : shown;
}

function makeExample(failure) {
  const testCase = cases[failure.c];
  return el(
    "li",
    {},
    el(
      "p",
      { class: "where" },
      el("a", { href: addressOf(failure.c, failure.d[0], failure.i), class: "id" }, escapeNodes(testCase.id)),
      " ",
      el("span", { class: "dim" }, formatDeliveries(failure)),
      failure.fresh && el("span", { class: "chip fresh" }, "new"),
    ),
    testCase.title && el("p", { class: "title" }, escapeNodes(testCase.title)),
    el(
      "pre",
      { class: "words" },
      failure.lines.map((line) => [...escapeNodes(line), "\n"]),
    ),
  );
}

function makeCause(cause, list, key) {
  const cut = open.has(key) ? list : list.slice(0, EXAMPLES);
  const count = list.reduce((sum, failure) => addCounts(sum, failure.count), new Uint32Array(LETTERS.length));
  const caseCount = new Set(list.map((failure) => failure.c)).size;
  const more =
    list.length > cut.length &&
    el(
      "button",
      {
        type: "button",
        class: "more",
        onclick: () => {
          open.add(key);
          drawCauses();
        },
      },
      `show ${formatCount(list.length - cut.length, "more failure")}`,
    );
  return el(
    "li",
    { class: "cause", id: `cause-${cause.number}`, tabindex: "-1" },
    el("span", { class: "number" }, String(cause.number)),
    el("h3", {}, makeSign(findWorst(count)), " ", markCode(cause.what)),
    el("p", { class: "harm" }, escapeNodes(cause.harm)),
    el(
      "p",
      { class: "tally" },
      `${describeCounts(count)} in ${formatCount(caseCount, "case")}`,
      run.impls.length > 1 && [" · ", el("b", {}, run.impls[cause.i].name)],
      cause.api && [" · ", el("code", {}, escapeNodes(cause.api))],
      " · ",
      el("code", {}, escapeNodes(cause.id)),
    ),
    el("ul", { class: "examples" }, cut.map(makeExample)),
    more,
    cause.also && el("p", { class: "dim" }, escapeNodes(cause.also)),
    makeCommand(cause.next, "next"),
  );
}

function makeCauseList(kind, room) {
  const causes = run.causes
    .map((cause, at) => [
      cause,
      `${kind}${at}`,
      cause.kind === kind ? cause.f.map((n) => run.failures[n]).filter(matchesFilters) : [],
    ])
    .filter(([, , list]) => list.length);
  const all = `all-${kind}`;
  const cut = open.has(all) ? causes : causes.slice(0, room);
  const more =
    causes.length > cut.length &&
    el(
      "button",
      {
        type: "button",
        class: "more",
        onclick: () => {
          open.add(all);
          drawCauses();
        },
      },
      `show ${formatCount(causes.length - cut.length, "more cause")}`,
    );
  const list = el(
    "ul",
    { class: "causes" },
    cut.map(([cause, key, rows]) => makeCause(cause, rows, key)),
  );
  return { count: causes.length, nodes: causes.length ? [list, more].filter(Boolean) : [] };
}

// Shows the details of a cause, which may be in a list that is shown in part, or folded.
function showCause(number) {
  const cause = run.causes.find((other) => other.number === number);
  if (!cause) return;
  open.add(`all-${cause.kind}`);
  if (cause.kind === "known") openLists.add("list-known");
  drawCauses();
  const box = document.getElementById(`cause-${number}`);
  box?.scrollIntoView({ block: "start" });
  box?.focus({ preventScroll: true });
}

const openLists = new Set(); // ids of the folded lists to open when they are drawn

function drawCauses() {
  const { count, nodes } = makeCauseList("unexpected", CAUSES_SHOWN);
  const none = run.causes.some((cause) => cause.kind === "unexpected")
    ? "No failures match the filters."
    : "No failures.";
  document.getElementById("causes").replaceChildren(...(count ? nodes : [el("p", { class: "dim" }, none)]));
  for (const [kind, id] of [
    ["warn", "warnings"],
    ["adapter", "adapter-errors"],
  ]) {
    const warnings = makeCauseList(kind, CAUSES_SHOWN);
    document.getElementById(id).hidden = !run.causes.some((cause) => cause.kind === kind);
    document
      .getElementById(`${id}-body`)
      .replaceChildren(...(warnings.count ? warnings.nodes : [el("p", { class: "dim" }, "None match the filters.")]));
  }
  const rest = document.getElementById("rest");
  const openIds = new Set([...openLists, ...[...rest.querySelectorAll("details[open]")].map((box) => box.id)]);
  rest.replaceChildren(
    ...[makeFoldedList("known", "Known failures (still failing)", openIds), makeSkippedList(openIds)].filter(Boolean),
  );
}

function makeFoldedList(kind, title, openIds) {
  if (!run.causes.some((cause) => cause.kind === kind)) return null;
  const box = el("details", { id: `list-${kind}` });
  const draw = () => {
    const { count, nodes } = makeCauseList(kind, CAUSES_SHOWN);
    box.replaceChildren(box.firstChild, ...(count ? nodes : [el("p", { class: "dim" }, "None match the filters.")]));
  };
  const total = run.causes
    .filter((cause) => cause.kind === kind)
    .flatMap((cause) => cause.f)
    .map((n) => run.failures[n])
    .filter(matchesFilters);
  const trials = total.reduce((sum, failure) => sum + failure.d.length, 0);
  box.append(el("summary", {}, el("h2", {}, title), ` ${formatCount(trials, "trial")}`));
  box.open = openIds.has(box.id) || filter.verdict === kind;
  if (box.open) draw();
  box.addEventListener("toggle", () => {
    if (box.open) draw();
  });
  return box;
}

function makeSkippedList(openIds) {
  const rows = run.skipped.filter(([i]) => listImpls().includes(i));
  if (!rows.length) return null;
  const many = run.impls.length > 1;
  const table = el(
    "table",
    { class: "list" },
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        many && el("th", { scope: "col" }, "implementation"),
        el("th", { scope: "col" }, "reason"),
        el("th", { scope: "col" }, "trials"),
      ),
    ),
    el(
      "tbody",
      {},
      rows
        .slice(0, 60)
        .map(([i, why, count]) =>
          el(
            "tr",
            {},
            many && el("td", {}, run.impls[i].name),
            el("td", {}, escapeNodes(why)),
            el("td", { class: "n" }, formatNumber(count)),
          ),
        ),
    ),
  );
  const total = rows.reduce((sum, [, , count]) => sum + count, 0);
  const box = el(
    "details",
    { id: "list-skipped" },
    el("summary", {}, el("h2", {}, "Skipped trials (not judged)"), ` ${formatCount(total, "trial")}`),
    el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Reasons why trials were skipped" }, table),
  );
  box.open = openIds.has(box.id) || filter.verdict === "skipped";
  return box;
}

const KINDS = { new: "new failures", fixed: "fixed", still: "still failing", gone: "no longer in the results" };

function drawSince() {
  if (!run.since) return;
  const body = document.getElementById("since-body");
  const { counts } = run.since;
  body.replaceChildren(
    el(
      "dl",
      { class: "numbers" },
      Object.entries(KINDS).map(([kind, label]) =>
        el("div", { class: `s-${kind}` }, el("dt", {}, label), el("dd", {}, formatNumber(counts[kind]))),
      ),
    ),
    el(
      "p",
      { class: "dim" },
      `Other trials: ${formatNumber(counts.same)} unchanged, ${formatNumber(counts.changed)} with a different verdict, ` +
        `${formatNumber(counts.added)} added, ${formatNumber(counts.stale)} known failures that pass (remove from list).`,
    ),
    Object.keys(KINDS)
      .filter((kind) => run.since.rows[kind].length)
      .map((kind) => {
        const rows = run.since.rows[kind];
        const box = el(
          "details",
          {},
          el(
            "summary",
            {},
            `${KINDS[kind][0].toUpperCase()}${KINDS[kind].slice(1)}: ${formatCount(rows.length, "case")}`,
          ),
        );
        box.open = kind !== "gone" && rows.length <= 12;
        const draw = () => {
          if (box.open && box.children.length < 2) box.append(makeChangeList(rows));
        };
        box.addEventListener("toggle", draw);
        draw();
        return box;
      }),
  );
}

function makeChangeList(rows) {
  return el(
    "ul",
    { class: "plain" },
    rows.slice(0, 400).map(([i, id, title, deliveries]) => {
      const testCase = caseById.get(id);
      const name =
        testCase && i !== null
          ? el("a", { class: "id", href: addressOf(testCase.number, deliveries[0], i) }, escapeNodes(id))
          : el("code", {}, escapeNodes(id));
      const who = run.impls.length > 1 && i !== null ? ` ${run.impls[i].name}` : "";
      const shownTitle = title || testCase?.title || "";
      return el(
        "li",
        {},
        name,
        el("span", { class: "dim" }, ` ${formatCount(deliveries.length, "trial")}${who} `),
        el("span", {}, escapeNodes(shownTitle)),
      );
    }),
    rows.length > 400 && el("li", { class: "dim" }, `and ${rows.length - 400} more`),
  );
}
