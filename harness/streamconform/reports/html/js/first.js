// The first page: causes, warnings and known failures, what was skipped, and what changed since an earlier run.

const CAUSES_SHOWN = 10;
const EXAMPLES = 3;
const open = new Set();

function deliveriesOf(failure) {
  const all = letters(failure.i, failure.c).replaceAll(".", "").length;
  if (!failure.d[0]) return "";
  if (failure.d.length === all && all > 2) return `all ${all} deliveries`;
  const shown = failure.d.slice(0, 4).map(legible).join(", ");
  return failure.d.length > 4 ? `${shown} and ${failure.d.length - 4} more` : shown;
}

function example(failure) {
  const each = cases[failure.c];
  return el("li", {},
    el("p", { class: "where" },
      el("a", { href: addressOf(failure.c, failure.d[0], failure.i), class: "id" }, visible(each.id)),
      " ", el("span", { class: "dim" }, deliveriesOf(failure)),
      failure.fresh && el("span", { class: "chip fresh" }, "new")),
    each.title && el("p", { class: "title" }, visible(each.title)),
    el("pre", { class: "words" }, failure.words.map((line) => [...visible(line), "\n"])));
}

function causeOf(cause, list, key) {
  const cut = open.has(key) ? list : list.slice(0, EXAMPLES);
  const count = list.reduce((sum, each) => added(sum, each.count), new Uint32Array(LETTERS.length));
  const touched = new Set(list.map((each) => each.c)).size;
  const more = list.length > cut.length && el("button", {
    type: "button", class: "more", onclick: () => { open.add(key); drawCauses(); },
  }, `show ${counted(list.length - cut.length, "more failure")}`);
  return el("li", { class: "cause" },
    el("h3", {}, sign(worst(count)), " ", el("code", {}, visible(cause.what))),
    el("p", { class: "tally" }, `${spoken(count)} in ${counted(touched, "case")}`,
      run.impls.length > 1 && [" · ", el("b", {}, run.impls[cause.i].name)],
      cause.culprit === "adapter" && " · the adapter’s fault"),
    el("ul", { class: "examples" }, cut.map(example)), more);
}

function causeList(kind, room) {
  const found = run.causes
    .map((cause, at) => [cause, `${kind}${at}`, cause.kind === kind ? cause.f.map((n) => run.failures[n]).filter(meansFailure) : []])
    .filter(([, , list]) => list.length);
  const all = `all-${kind}`;
  const cut = open.has(all) ? found : found.slice(0, room);
  const more = found.length > cut.length && el("button", {
    type: "button", class: "more", onclick: () => { open.add(all); drawCauses(); },
  }, `show ${counted(found.length - cut.length, "rarer cause")}`);
  const list = el("ol", { class: "causes" }, cut.map(([cause, key, rows]) => causeOf(cause, rows, key)));
  return { count: found.length, nodes: found.length ? [list, more].filter(Boolean) : [] };
}

function drawCauses() {
  const { count, nodes } = causeList("unexpected", CAUSES_SHOWN);
  const none = run.causes.some((each) => each.kind === "unexpected") ? "Nothing unexpected among what the filters mean." : "Nothing is unexpected.";
  document.getElementById("causes").replaceChildren(...(count ? nodes : [el("p", { class: "dim" }, none)]));
  const rest = document.getElementById("rest");
  const was = new Set([...rest.querySelectorAll("details[open]")].map((each) => each.id));
  rest.replaceChildren(...[
    folded("warn", "Warnings: these differ, but the provider’s words leave room", was),
    folded("known", "Known failures: listed, and they still fail", was),
    skipped(was),
  ].filter(Boolean));
}

function folded(kind, title, was) {
  if (!run.causes.some((each) => each.kind === kind)) return null;
  const box = el("details", { id: `list-${kind}` });
  const draw = () => {
    const { count, nodes } = causeList(kind, CAUSES_SHOWN);
    box.replaceChildren(box.firstChild, ...(count ? nodes : [el("p", { class: "dim" }, "None among what the filters mean.")]));
  };
  const total = run.causes.filter((each) => each.kind === kind).flatMap((each) => each.f).map((n) => run.failures[n]).filter(meansFailure);
  const trials = total.reduce((sum, each) => sum + each.d.length, 0);
  box.append(el("summary", {}, el("h2", {}, title), ` ${counted(trials, "trial")}`));
  box.open = was.has(box.id) || filter.verdict === kind;
  if (box.open) draw();
  box.addEventListener("toggle", () => { if (box.open) draw(); });
  return box;
}

function skipped(was) {
  const rows = run.skipped.filter(([i]) => shownImpls().includes(i));
  if (!rows.length) return null;
  const many = run.impls.length > 1;
  const table = el("table", { class: "list" },
    el("thead", {}, el("tr", {}, many && el("th", { scope: "col" }, "implementation"), el("th", { scope: "col" }, "why"), el("th", { scope: "col" }, "trials"))),
    el("tbody", {}, rows.slice(0, 60).map(([i, why, count]) => el("tr", {},
      many && el("td", {}, run.impls[i].name), el("td", {}, visible(why)), el("td", { class: "n" }, number(count))))));
  const total = rows.reduce((sum, [, , count]) => sum + count, 0);
  const box = el("details", { id: "list-skipped" }, el("summary", {}, el("h2", {}, "Skipped: not judged, and so neither right nor wrong"), ` ${counted(total, "trial")}`),
    el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Reasons for which trials were skipped" }, table));
  box.open = was.has(box.id) || filter.verdict === "skipped";
  return box;
}

const KINDS = {
  new: "fail now and did not before",
  fixed: "failed before and pass now",
  still: "failed before and still do",
  gone: "were in the earlier run only",
};

function drawSince() {
  if (!run.since) return;
  const body = document.getElementById("since-body");
  const extra = run.since.counts;
  body.replaceChildren(
    el("dl", { class: "numbers" }, Object.entries(KINDS).map(([kind, words]) => el("div", { class: `s-${kind}` },
      el("dt", {}, words), el("dd", {}, number(extra[kind]))))),
    el("p", { class: "dim" }, `Of the others ${counted(extra.same, "trial")} ended as before, ${number(extra.changed)} otherwise but not for better or worse, `
      + `${number(extra.added)} are new and do not fail, ${number(extra.stale)} are stale.`),
    Object.keys(KINDS).filter((kind) => run.since.rows[kind].length).map((kind) => {
      const rows = run.since.rows[kind];
      const box = el("details", {}, el("summary", {}, `${counted(rows.length, "case")} that ${KINDS[kind]}`));
      box.open = kind !== "gone" && rows.length <= 12;
      const draw = () => { if (box.open && box.children.length < 2) box.append(changes(rows)); };
      box.addEventListener("toggle", draw);
      draw();
      return box;
    }));
}

function changes(rows) {
  return el("ul", { class: "plain" }, rows.slice(0, 400).map(([i, id, title, deliveries]) => {
    const there = caseByid.get(id);
    const name = there && i !== null ? el("a", { class: "id", href: addressOf(there.number, deliveries[0], i) }, visible(id)) : el("code", {}, visible(id));
    const who = run.impls.length > 1 && i !== null ? ` ${run.impls[i].name}` : "";
    const told = title || there?.title || "";
    return el("li", {}, name, el("span", { class: "dim" }, ` ${counted(deliveries.length, "trial")}${who} `), el("span", {}, visible(told)));
  }), rows.length > 400 && el("li", { class: "dim" }, `and ${rows.length - 400} more`));
}
