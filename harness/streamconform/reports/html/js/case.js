// The page of a case: what it is, what differs, the wire, the request, and the command to see it again.

const LINES_SHOWN = 3;

function section(title, ...children) {
  const id = `s-${title.toLowerCase().replace(/[^a-z]+/g, "-")}`;
  return el("section", { "aria-labelledby": id }, el("h2", { id }, title), children);
}

function fact(name, ...given) {
  return given.flat().length ? el("div", {}, el("dt", {}, name), el("dd", {}, given)) : null;
}

function joined(nodes) {
  return nodes.flatMap((each, at) => (at ? [", ", each] : [each]));
}

function casePage(c, delivery, i) {
  const each = cases[c];
  const failure = delivery !== null && i !== null ? failureAt(c, i, delivery) : null;
  const about = run.about[c];
  return [
    el("nav", { class: "trail", "aria-label": "Where you are" }, el("a", { href: lastList, id: "back" }, "← All results"), neighbours(failure)),
    el("div", { class: "top" },
      el("h1", { tabindex: "-1", id: "case-title" }, visible(each.title || each.id)),
      el("p", { class: "id" }, el("code", {}, visible(trialId(c, delivery || ""))), " ", copier(trialId(c, delivery || ""), "the id of the trial"),
        " ", copier(() => location.href, "the address of this page", "Copy link"))),
    about?.why && el("p", { class: "why" }, visible(about.why)),
    el("dl", { class: "facts" },
      fact("Guards against", joined((about?.guards || []).map(bug))),
      fact("Sources", joined((about?.sources || []).map((source) => link(source, source)))),
      fact("Tags", joined(each.tags.map((tag) => el("a", { href: `#${new URLSearchParams({ tag: run.tags[tag] })}` }, visible(run.tags[tag]))))),
      fact("Spec", about?.spec ? [el("code", {}, visible(about.spec))] : []),
      fact("Cassette", about?.cassette ? [el("code", {}, visible(about.cassette)), `, ${legible(about.provenance)}`] : [])),
    trials(c, delivery, i),
    ...(failure ? failureSections(failure, about) : nothingKept(c, delivery, i)),
    about?.asked !== undefined && requestSection(about),
    about && "input" in about && section("Input", el("pre", { class: "box" }, visible(asText(about.input)))),
  ].filter(Boolean);
}

function neighbours(failure) {
  const at = inOrder.indexOf(failure);
  if (at < 0) return null;
  const to = (next, words) => next && el("a", { href: addressOf(next.c, next.d[0], next.i) }, words);
  return el("span", { class: "steps" }, to(inOrder[at - 1], "previous failure"), el("span", { class: "dim" }, `${at + 1} of ${inOrder.length}`), to(inOrder[at + 1], "next failure"));
}

// Every way in which the case was handed over, for each implementation; a few that all passed are one word.
function trials(c, delivery, i) {
  const each = cases[c];
  const rows = run.impls.map((info, at) => {
    const all = letters(at, c);
    const chips = each.set.map((number_, place) => [run.deliveries[number_], all[place]]).filter(([, letter]) => letter !== ".");
    if (!chips.length) return null;
    const same = new Set(chips.map(([, letter]) => letter)).size === 1 && "px".includes(chips[0][1]);
    const list = same
      ? el("span", { class: "dim" }, sign(chips[0][1]), ` ${counted(chips.length, "trial")} ${chips[0][1] === "p" ? "passed" : "skipped"}`)
      : el("ul", { class: "chips" }, chips.map(([name, letter]) => el("li", {}, el("a", {
        href: addressOf(c, name, at), class: `trial v-${letter}`, "aria-current": at === i && name === delivery ? "true" : null,
      }, sign(letter), " ", legible(name || "call"), el("span", { class: "off" }, ` ${NAMES[letter]}`)))));
    return el("tr", { class: at === i ? "current" : null }, el("th", { scope: "row" }, info.name), el("td", {}, list));
  }).filter(Boolean);
  return el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Trials of this case" },
    el("table", { class: "trials" }, el("caption", { class: "off" }, "Trials of this case"), el("tbody", {}, rows)));
}

function nothingKept(c, delivery, i) {
  const there = delivery !== null && i !== null;
  const place = there ? cases[c].set.findIndex((n) => run.deliveries[n] === delivery) : -1;
  const letter = place < 0 ? null : letters(i, c)[place];
  const words_ = {
    p: "This trial passed. Results keep the answer of a trial only where something was not as expected.",
    x: "This trial was skipped: the implementation does not claim what it needs.",
  };
  const command_ = `conform explain '${trialId(c, delivery || "")}'${i === null ? "" : ` -i '${run.impls[i].impl.replaceAll("'", "'\\''")}'`}`;
  return [section("Nothing to show", el("p", {}, words_[letter] || "No trial of this case failed, or none is chosen."), command(command_, "show it"))];
}

function command(text, words_) {
  return el("div", { class: "command" }, el("span", { class: "dim" }, words_), el("code", {}, visible(text)), copier(text, "the command"));
}

function failureSections(failure, about) {
  const wire = run.wires[trialId(failure.c, failure.d[0])];
  const also = failure.d.length > 1 ? `The same in ${counted(failure.d.length, "delivery").replace("deliverys", "deliveries")}: ${failure.d.map(legible).join(", ")}.` : "";
  const stay = [failure.culprit && `Whose fault: the ${failure.culprit}.`, also].filter(Boolean).join(" ");
  return [
    section("What differs",
      failure.known && el("p", { class: "note" }, "Known: ", visible(failure.known)),
      failure.reason && el("p", { class: "reason" }, visible(failure.reason)),
      failure.traceback && el("pre", { class: "box" }, failure.traceback.split("\n").map((line) => [...visible(line), "\n"])),
      differences(failure.checks || [], wire),
      failure.more && el("p", { class: "dim" }, `and ${failure.more} more checks that differ`),
      !failure.checks && [el("pre", { class: "words" }, failure.words.map((line) => [...visible(line), "\n"])), el("p", { class: "note" }, "The values are left out of this page, which would be too large to open with all of them.")],
      failure.requests?.length > 0 && el("p", { class: "dim" }, "The client asked: ", joined(failure.requests.slice(0, 8).map((each) => el("code", {}, each)))),
      stay && el("p", { class: "dim" }, stay),
      failure.right?.length && el("details", {}, el("summary", {}, `${counted(failure.right.length, "check")} of the values held`),
        el("table", { class: "list" }, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "check"), el("th", { scope: "col" }, "value"))),
          el("tbody", {}, failure.right.map(([path, value]) => el("tr", {}, el("th", { scope: "row" }, el("code", {}, visible(path))), el("td", { class: "code" }, visible(value)))))))),
    section("See it again", command(failure.run, "run it"), failure.explain && command(failure.explain, "explain it"),
      failure.minimise && command(failure.minimise, "minimise it")),
    wire ? wireSection(failure, wire) : about?.function === undefined && section("Wire", el("p", { class: "note" },
      about ? "The bytes are left out of this page, which would be too large to open with all of them." : "The suite could not be read when the page was made, so the bytes are not here.")),
  ].filter(Boolean);
}

// Short values in one table; what is longer side by side below it.
function differences(checks, wire) {
  const short = checks.filter((check) => brief(check) !== null);
  const table = short.length > 0 && el("table", { class: "briefly" },
    el("thead", {}, el("tr", {}, ["check", "expected", "got", "decided by"].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, short.map((check) => {
      const [one, other] = brief(check);
      const sides = check.message ? null : marked(one, other);
      return el("tr", {},
        el("th", { scope: "row" }, sign(LETTER[check.verdict] || "m", check.verdict), " ", el("code", {}, visible(check.path)), el("small", {}, check.verdict === "fail" ? "" : `${check.verdict}, level ${check.level}`)),
        sides ? [el("td", { class: "code one" }, drawn(sides[0], "e", true)), el("td", { class: "code other" }, drawn(sides[1], "g", true))]
          : [el("td", { class: "code one" }, visible(one)), el("td", { class: "code other" }, visible(other)) ],
        el("td", {}, frameLinks(check, wire) || el("span", { class: "dim" }, "no frame by itself")));
    })));
  return [table && el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Short values that differ" }, table),
    checks.filter((check) => brief(check) === null).map((check) => difference(check, wire))];
}

const BRIEF = 48;

// Both sides of a check in a few characters each; null where they need more room.
function brief(check) {
  if (check.since) return null;
  const wanted = matcher(check.expected) || asText(check.expected ?? null);
  if (check.message) {
    const said = check.message === "content block missing" ? "" : null;
    return said === "" && wanted.length <= BRIEF && !wanted.includes("\n") ? [wanted, check.message] : null;
  }
  const came = asText(check.got ?? null);
  const quoted = (value, text) => (typeof value === "string" ? JSON.stringify(text) : text);
  const pair = [matcher(check.expected) ? wanted : quoted(check.expected, wanted), quoted(check.got, came)];
  return pair.every((text) => text.length <= BRIEF && !text.includes("\n")) ? pair : null;
}

function frameLinks(check, wire) {
  if (!check.frames.length) return null;
  const links = check.frames.slice(0, 24).map((n) => (wire && n < wire.frames.length
    ? el("a", { href: `#frame-${n}`, onclick: (event) => { event.preventDefault(); showFrame(n); } }, `frame ${n}`) : `frame ${n}`));
  return [joined(links), check.frames.length > 24 && ` and ${check.frames.length - 24} more`];
}

function difference(check, wire) {
  const title = el("h3", {}, sign(LETTER[check.verdict] || "m", check.verdict), " ", el("code", {}, visible(check.path)), el("small", {}, `${check.verdict}, level ${check.level}`));
  const frames = check.frames.length > 0 && el("p", { class: "decided" }, "Decided by ", frameLinks(check, wire));
  if (check.message && (check.expected === null || check.expected === undefined || check.got === null)) {
    const wanted = check.expected === null || check.expected === undefined ? null : el("p", { class: "dim" }, "expected ", el("code", {}, long(matcher(check.expected) || asText(check.expected))));
    return el("div", { class: "check" }, title, el("p", { class: "reason" }, visible(check.message)), wanted, frames);
  }
  const said = matcher(check.expected);
  const { rows, json } = said ? { rows: [[[[true, said]], [[true, asText(check.got)]], false]], json: true } : aligned(check.expected, check.got);
  const body = el("tbody", {}, foldedLines(rows).map((given) => {
    if (given.fold) {
      const line = el("tr", { class: "gap" }, el("td", { colspan: 2 }, el("button", { type: "button", class: "more" }, `${given.fold.length} lines that are the same`)));
      line.querySelector("button").addEventListener("click", () => line.replaceWith(...given.fold.map((each) => lineOf(each, json))));
      return line;
    }
    return lineOf(given, json);
  }));
  const names = [["expected", check.expected, "what was expected"], ["got", check.got, "what came"]];
  const heads = names.map(([name, value, what]) => el("th", { scope: "col" }, name, " ", copier(asText(value), what)));
  return el("div", { class: "check" }, title,
    check.message && el("p", { class: "reason" }, visible(check.message)),
    check.since && el("p", { class: "dim" }, `Shown from character ${number(check.since[0])}; expected ${number(check.since[1])}, got ${number(check.since[2])} characters.`),
    el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": `Expected and got: ${legible(check.path)}` },
      el("table", { class: "sides" }, el("thead", {}, el("tr", {}, heads)), body)),
    frames);
}

function lineOf([left, right, same], json) {
  const of = (segments, side) => el("td", { class: segments === null ? "none" : null }, segments === null ? "" : drawn(segments, side, json));
  return el("tr", { class: same ? null : "differs" }, of(left, "e"), of(right, "g"));
}

function foldedLines(rows) {
  const found = [];
  for (let at = 0; at < rows.length;) {
    let end = at;
    while (end < rows.length && rows[end][2]) end += 1;
    const head = at ? LINES_SHOWN : 0;
    const tail = end < rows.length ? LINES_SHOWN : 0;
    if (end - at > head + tail + 3) found.push(...rows.slice(at, at + head), { fold: rows.slice(at + head, end - tail) }, ...rows.slice(end - tail, end));
    else found.push(...rows.slice(at, end));
    if (end < rows.length) found.push(rows[end]);
    at = end + 1;
  }
  return found;
}

let showFrame = () => {};

function wireSection(failure, wire) {
  const view = { kind: "payload", all: false, redraw: null };
  const box = el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Frames of the stream" });
  view.redraw = (target) => {
    box.replaceChildren(...timeline(failure, wire, view));
    const there = target && document.getElementById(target);
    if (there) { there.scrollIntoView({ block: "center" }); there.focus(); }
  };
  showFrame = (n) => {
    const there = document.getElementById(`frame-${n}`);
    if (!there) view.all = true;
    view.redraw(`frame-${n}`);
  };
  const kinds = { payload: "Payloads", raw: "Raw bytes", hex: "Hex" };
  const buttons = Object.entries(kinds).map(([kind, name]) => el("button", { type: "button", "aria-pressed": String(kind === view.kind), onclick: (event) => {
    view.kind = kind;
    buttons.forEach((each) => each.setAttribute("aria-pressed", String(each === event.currentTarget)));
    view.redraw();
  } }, name));
  view.redraw();
  const cut = wire.body.length * 0.75 < wire.size - 3 ? ` Only the first ${number(Math.floor(wire.body.length * 0.75))} bytes are on this page.` : "";
  const less = wire.frames.length < wire.count ? ` ${number(wire.frames.length)} frames are listed.` : "";
  const reads = wire.chunks ? counted(wire.reads, "read") : "a byte a read";
  const placed = failure.events ? " Events stand at the first frame that accounts for them; results do not hold when they came out." : "";
  return section("Wire",
    el("p", { class: "dim" }, `${wire.framing}, ${counted(wire.count, "frame")}, ${counted(wire.size, "byte")}, ${reads}.${wire.broken ? " The stream was broken on purpose: this is what was sent." : ""}${cut}${less}${placed}`),
    el("div", { class: "switch", role: "group", "aria-label": "Show frames as" }, buttons,
      el("button", { type: "button", onclick: () => { view.all = true; view.redraw(); } }, "All frames"),
      copier(() => utf8.decode(bytesOf(wire.body)), "the body of the response", "Copy body"),
      failure.checks?.some((check) => check.frames.length) && el("span", { class: "key decided" }, "decides what differs"),
      failure.departed !== undefined && failure.departed !== null && el("span", { class: "key departed" }, "the answer departs")),
    box);
}

function requestSection(about) {
  const asked = asText(about.asked);
  const headers = Object.entries(about.headers || {});
  return section("Request and response",
    el("p", {}, el("code", {}, visible(about.request)), about.model && [" model ", el("code", {}, visible(about.model))], " ", copier(asked, "the body of the request")),
    el("details", {}, el("summary", {}, "Body of the request"), el("pre", { class: "box" }, long(asked, (text) => text.split("\n").flatMap((line) => [...visible(line), "\n"]), 6000))),
    el("p", {}, `Response: status ${about.status}`, headers.length > 0 && el("span", { class: "dim" }, ", ", legible(headers.map(([key, value]) => `${key}: ${value}`).join(", ")))));
}
