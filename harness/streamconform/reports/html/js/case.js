// The page of a case: description, differences, wire, request, and the commands that reproduce it.

const LINES_SHOWN = 3;

function makeSection(title, ...children) {
  const id = `s-${title.toLowerCase().replace(/[^a-z]+/g, "-")}`;
  return el("section", { "aria-labelledby": id }, el("h2", { id }, title), children);
}

function makeFact(name, ...nodes) {
  return nodes.flat().length ? el("div", {}, el("dt", {}, name), el("dd", {}, nodes)) : null;
}

function joinNodes(nodes) {
  return nodes.flatMap((node, at) => (at ? [", ", node] : [node]));
}

function makeCasePage(c, delivery, i) {
  const testCase = cases[c];
  const failure = delivery !== null && i !== null ? findFailure(c, i, delivery) : null;
  const about = run.about[c];
  return [
    el("nav", { class: "trail", "aria-label": "Where you are" }, el("a", { href: lastList, id: "back" }, "← All results"), makeSteps(failure)),
    el("div", { class: "top" },
      el("h1", { tabindex: "-1", id: "case-title" }, escapeNodes(testCase.title || testCase.id)),
      el("p", { class: "id" }, el("code", {}, escapeNodes(trialId(c, delivery || ""))), " ", copyButton(trialId(c, delivery || ""), "the id of the trial"),
        " ", copyButton(() => location.href, "the address of this page", "Copy link"))),
    about?.why && el("p", { class: "why" }, escapeNodes(about.why)),
    el("dl", { class: "facts" },
      makeFact("Evidence", makeEvidence(about?.evidence || [])),
      makeFact("Guards against", joinNodes((about?.guards || []).map(bugLink))),
      makeFact("See also", joinNodes((about?.sources || []).map((source) => link(source, source)))),
      makeFact("Tags", joinNodes(testCase.tags.map((tag) => el("a", { href: `#${new URLSearchParams({ tag: run.tags[tag] })}` }, escapeNodes(run.tags[tag]))))),
      makeFact("Spec", about?.spec ? [el("code", {}, escapeNodes(about.spec))] : []),
      makeFact("Cassette", about?.cassette ? [el("code", {}, escapeNodes(about.cassette)), `, ${escapeText(about.provenance)}`] : [])),
    makeTrialTable(c, delivery, i),
    ...(failure ? makeFailureSections(failure, about) : explainNoDetails(c, delivery, i)),
    about?.body !== undefined && makeRequestSection(about),
    about && "input" in about && makeSection("Input", el("pre", { class: "box" }, escapeNodes(toText(about.input)))),
  ].filter(Boolean);
}

// The evidence for the case: each fact, with the page that states it or the recording that shows it.
function makeEvidence(facts) {
  if (!facts.length) return [];
  return [el("ul", { class: "evidence" }, facts.map(([says, from, read]) => el("li", {}, escapeNodes(says), " ",
    /^https?:/.test(from) ? link(from, from) : el("span", { class: "dim" }, "observed: ", escapeNodes(from)), el("span", { class: "dim" }, `, read ${read}`))))];
}

function makeSteps(failure) {
  // Step through the failures that match the list's filters, and this one: a page opened by its address may not match them.
  const listed = inOrder.filter((other) => other === failure || matchesFilters(other));
  const at = listed.indexOf(failure);
  if (at < 0) return null;
  const to = (next, label) => next && el("a", { href: addressOf(next.c, next.d[0], next.i) }, label);
  return el("span", { class: "steps" }, to(listed[at - 1], "previous failure"), el("span", { class: "dim" }, `${at + 1} of ${listed.length}`), to(listed[at + 1], "next failure"));
}

// Every delivery of the case, for each implementation; if all passed or all were skipped, only their number.
function makeTrialTable(c, delivery, i) {
  const testCase = cases[c];
  const rows = run.impls.map((info, at) => {
    const all = listLetters(at, c);
    const chips = testCase.set.map((delivery_, place) => [run.deliveries[delivery_], all[place]]).filter(([, letter]) => letter !== ".");
    if (!chips.length) return null;
    const same = new Set(chips.map(([, letter]) => letter)).size === 1 && "px".includes(chips[0][1]);
    const list = same
      ? el("span", { class: "dim" }, makeSign(chips[0][1]), ` ${formatCount(chips.length, "trial")} ${chips[0][1] === "p" ? "passed" : "skipped"}`)
      : el("ul", { class: "chips" }, chips.map(([name, letter]) => el("li", {}, el("a", {
        href: addressOf(c, name, at), class: `trial v-${letter}`, "aria-current": at === i && name === delivery ? "true" : null,
      }, makeSign(letter), " ", escapeText(name || "call"), el("span", { class: "off" }, ` ${LABELS[letter]}`)))));
    return el("tr", { class: at === i ? "current" : null }, el("th", { scope: "row" }, info.name), el("td", {}, list));
  }).filter(Boolean);
  return el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Trials of this case" },
    el("table", { class: "trials" }, el("caption", { class: "off" }, "Trials of this case"), el("tbody", {}, rows)));
}

function explainNoDetails(c, delivery, i) {
  const isTrial = delivery !== null && i !== null;
  const place = isTrial ? cases[c].set.findIndex((n) => run.deliveries[n] === delivery) : -1;
  const letter = place < 0 ? null : listLetters(i, c)[place];
  const messages = {
    p: "This trial passed. Results keep the answer of a trial only if it did not pass.",
    x: "This trial was skipped: the implementation does not claim a capability that it needs.",
  };
  const text = `conform explain '${trialId(c, delivery || "")}'${i === null ? "" : ` -i '${run.impls[i].impl.replaceAll("'", "'\\''")}'`}`;
  return [makeSection("No details", el("p", {}, messages[letter] || "No trial of this case failed, or none is selected."), makeCommand(text, "show it"))];
}

function makeCommand(text, label) {
  return el("div", { class: "command" }, el("span", { class: "dim" }, label), el("code", {}, escapeNodes(text)), copyButton(text, "the command"));
}

function makeFailureSections(failure, about) {
  const wire = run.wires[trialId(failure.c, failure.d[0])];
  const also = failure.d.length > 1 ? `The same failure in ${formatCount(failure.d.length, "delivery")}: ${failure.d.map(escapeText).join(", ")}.` : "";
  return [
    makeSection("Differences",
      failure.known && el("p", { class: "note" }, "Known: ", escapeNodes(failure.known)),
      failure.cause && el("p", { class: "reason" }, el("b", {}, escapeNodes(failure.cause.what)), ` (${escapeText(failure.cause.harm)})`),
      failure.raised && el("p", { class: "reason" }, el("code", {}, escapeNodes(failure.raised))),
      failure.reason && el("p", { class: "reason" }, escapeNodes(failure.reason)),
      failure.traceback && el("pre", { class: "box" }, failure.traceback.split("\n").map((line) => [...escapeNodes(line), "\n"])),
      makeDifferences(failure.checks || [], wire),
      failure.more && el("p", { class: "dim" }, `and ${failure.more} more failed checks`),
      failure.left_out && el("p", { class: "note" }, escapeNodes(failure.left_out)),
      !failure.checks && [el("pre", { class: "words" }, failure.lines.map((line) => [...escapeNodes(line), "\n"])), el("p", { class: "note" }, "The values are left out to keep the page small.")],
      failure.requests?.length > 0 && el("p", { class: "dim" }, "Requests from the client: ", joinNodes(failure.requests.slice(0, 8).map((request) => el("code", {}, request)))),
      also && el("p", { class: "dim" }, also),
      failure.right?.length && el("details", {}, el("summary", {}, `${formatCount(failure.right.length, "other check")} passed`),
        el("table", { class: "list" }, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "check"), el("th", { scope: "col" }, "value"))),
          el("tbody", {}, failure.right.map(([path, value]) => el("tr", {}, el("th", { scope: "row" }, el("code", {}, escapeNodes(path))), el("td", { class: "code" }, escapeNodes(value)))))))),
    makeSection("Reproduce", makeCommand(failure.run, "run it"), failure.explain && makeCommand(failure.explain, "explain it"),
      failure.minimise && makeCommand(failure.minimise, "minimise it")),
    wire ? makeWireSection(failure, wire) : about?.function === undefined && makeSection("Wire", el("p", { class: "note" },
      about ? "The bytes are left out to keep the page small." : "The bytes are missing, because the suite could not be read when the page was made.")),
  ].filter(Boolean);
}

// Short values in one table, longer ones side by side below it.
function makeDifferences(checks, wire) {
  const short = checks.filter((check) => shortValues(check) !== null);
  const table = short.length > 0 && el("table", { class: "briefly" },
    el("thead", {}, el("tr", {}, ["check", "expected", "got", "relevant frames"].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, short.map((check) => {
      const [one, other] = shortValues(check);
      const sides = check.message ? null : diffTexts(one, other);
      return el("tr", {},
        el("th", { scope: "row" }, makeSign(LETTER[check.verdict] || "m", check.verdict), " ", el("code", {}, escapeNodes(check.path)), el("small", {}, check.verdict === "fail" ? "" : `${check.verdict}, level ${check.level}`)),
        sides ? [el("td", { class: "code one" }, drawSegments(sides[0], "e", true)), el("td", { class: "code other" }, drawSegments(sides[1], "g", true))]
          : [el("td", { class: "code one" }, escapeNodes(one)), el("td", { class: "code other" }, escapeNodes(other)) ],
        el("td", {}, makeFrameLinks(check, wire) || el("span", { class: "dim" }, "none")));
    })));
  return [table && el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Short values that differ" }, table),
    checks.filter((check) => shortValues(check) === null).map((check) => makeDifference(check, wire))];
}

const SHORT_VALUE = 48;

// Returns both sides of a check as short texts, null if either needs more room.
function shortValues(check) {
  if (check.since) return null;
  const expected = describeMatcher(check.expected) || toText(check.expected ?? null);
  if (check.message) {
    const isShort = (text) => text.length <= SHORT_VALUE && !text.includes("\n");
    const hasGot = check.got !== null && check.got !== undefined;
    return !hasGot && isShort(expected) && isShort(check.message) ? [expected, check.message] : null;
  }
  const got = toText(check.got ?? null);
  const quoted = (value, text) => (typeof value === "string" ? JSON.stringify(text) : text);
  const pair = [describeMatcher(check.expected) ? expected : quoted(check.expected, expected), quoted(check.got, got)];
  return pair.every((text) => text.length <= SHORT_VALUE && !text.includes("\n")) ? pair : null;
}

function makeFrameLinks(check, wire) {
  if (!check.frames.length) return null;
  const links = check.frames.slice(0, 24).map((n) => (wire && n < wire.frames.length
    ? el("a", { href: `#frame-${n}`, onclick: (event) => { event.preventDefault(); showFrame(n); } }, String(n)) : String(n)));
  return [joinNodes(links), check.frames.length > 24 && ` and ${check.frames.length - 24} more`];
}

function makeDifference(check, wire) {
  const title = el("h3", {}, makeSign(LETTER[check.verdict] || "m", check.verdict), " ", el("code", {}, escapeNodes(check.path)), el("small", {}, `${check.verdict}, level ${check.level}`));
  const frames = check.frames.length > 0 && el("p", { class: "relevant" }, "Relevant frames: ", makeFrameLinks(check, wire));
  if (check.message && (check.expected === null || check.expected === undefined || check.got === null)) {
    const expected = check.expected === null || check.expected === undefined ? null : el("p", { class: "dim" }, "expected ", el("code", {}, expandable(describeMatcher(check.expected) || toText(check.expected))));
    return el("div", { class: "check" }, title, el("p", { class: "reason" }, escapeNodes(check.message)), expected, frames);
  }
  const matcher = describeMatcher(check.expected);
  const { rows, json } = matcher ? { rows: [[[[true, matcher]], [[true, toText(check.got)]], false]], json: true } : alignLines(check.expected, check.got);
  const body = el("tbody", {}, foldEqualLines(rows).map((row) => {
    if (row.fold) {
      const line = el("tr", { class: "gap" }, el("td", { colspan: 2 }, el("button", { type: "button", class: "more" }, `${row.fold.length} equal lines`)));
      line.querySelector("button").addEventListener("click", () => line.replaceWith(...row.fold.map((hidden) => makeLine(hidden, json))));
      return line;
    }
    return makeLine(row, json);
  }));
  const names = [["expected", check.expected, "the expected value"], ["got", check.got, "the actual value"]];
  const heads = names.map(([name, value, what]) => el("th", { scope: "col" }, name, " ", copyButton(toText(value), what)));
  return el("div", { class: "check" }, title,
    check.message && el("p", { class: "reason" }, escapeNodes(check.message)),
    check.since && el("p", { class: "dim" }, `Shown from character ${formatNumber(check.since[0])}; expected ${formatNumber(check.since[1])}, got ${formatNumber(check.since[2])} characters.`),
    el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": `Expected and got: ${escapeText(check.path)}` },
      el("table", { class: "sides" }, el("thead", {}, el("tr", {}, heads)), body)),
    frames);
}

function makeLine([left, right, same], json) {
  const of = (segments, side) => el("td", { class: segments === null ? "none" : null }, segments === null ? "" : drawSegments(segments, side, json));
  return el("tr", { class: same ? null : "differs" }, of(left, "e"), of(right, "g"));
}

function foldEqualLines(rows) {
  const folded = [];
  for (let at = 0; at < rows.length;) {
    let end = at;
    while (end < rows.length && rows[end][2]) end += 1;
    const head = at ? LINES_SHOWN : 0;
    const tail = end < rows.length ? LINES_SHOWN : 0;
    if (end - at > head + tail + 3) folded.push(...rows.slice(at, at + head), { fold: rows.slice(at + head, end - tail) }, ...rows.slice(end - tail, end));
    else folded.push(...rows.slice(at, end));
    if (end < rows.length) folded.push(rows[end]);
    at = end + 1;
  }
  return folded;
}

let showFrame = () => {};

function makeWireSection(failure, wire) {
  const view = { kind: "payload", all: false, redraw: null };
  const box = el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Frames of the stream" });
  view.redraw = (target) => {
    box.replaceChildren(...makeTimeline(failure, wire, view));
    const row = target && document.getElementById(target);
    if (row) { row.scrollIntoView({ block: "center" }); row.focus(); }
  };
  showFrame = (n) => {
    if (!document.getElementById(`frame-${n}`)) view.all = true;
    view.redraw(`frame-${n}`);
  };
  const kinds = { payload: "Payloads", raw: "Raw bytes", hex: "Hex" };
  const buttons = Object.entries(kinds).map(([kind, name]) => el("button", { type: "button", "aria-pressed": String(kind === view.kind), onclick: (event) => {
    view.kind = kind;
    buttons.forEach((button) => button.setAttribute("aria-pressed", String(button === event.currentTarget)));
    view.redraw();
  } }, name));
  view.redraw();
  // The body is base64: four characters for three bytes, and up to two characters of padding at the end.
  const cut = wire.body.length * 0.75 < wire.size - 3 ? ` Only the first ${formatNumber(Math.floor(wire.body.length * 0.75))} bytes are on this page.` : "";
  const less = wire.frames.length < wire.count ? ` ${formatNumber(wire.frames.length)} frames are listed.` : "";
  const reads = wire.chunks ? formatCount(wire.reads, "read") : "one byte per read";
  const placed = failure.events ? " Each event is shown at the first frame that could have produced it; emission times are not recorded." : "";
  return makeSection("Wire",
    el("p", { class: "dim" }, `${wire.framing}, ${formatCount(wire.count, "frame")}, ${formatCount(wire.size, "byte")}, ${reads}.${wire.broken ? " The stream was broken on purpose (a fault); these are the bytes that were sent." : ""}${cut}${less}${placed}`),
    el("div", { class: "switch", role: "group", "aria-label": "Show frames as" }, buttons,
      el("button", { type: "button", onclick: () => { view.all = true; view.redraw(); } }, "All frames"),
      copyButton(() => utf8.decode(decodeBase64(wire.body)), "the body of the response", "Copy body"),
      failure.checks?.some((check) => check.frames.length) && el("span", { class: "key relevant" }, "relevant frame"),
      failure.diverged !== undefined && failure.diverged !== null && el("span", { class: "key diverged" }, "first wrong event")),
    box);
}

function makeRequestSection(about) {
  const body = toText(about.body);
  const headers = Object.entries(about.headers || {});
  return makeSection("Request and response",
    el("p", {}, el("code", {}, escapeNodes(about.request)), about.model && [" model ", el("code", {}, escapeNodes(about.model))], " ", copyButton(body, "the body of the request")),
    el("details", {}, el("summary", {}, "Body of the request"), el("pre", { class: "box" }, expandable(body, (text) => text.split("\n").flatMap((line) => [...escapeNodes(line), "\n"]), 6000))),
    el("p", {}, `Response: status ${about.status}`, headers.length > 0 && el("span", { class: "dim" }, ", ", escapeText(headers.map(([key, value]) => `${key}: ${value}`).join(", ")))));
}
