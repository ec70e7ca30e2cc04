// The page of a case: differences, wire, the commands that reproduce it, the reasons, and the request.

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

// The page in the order of a reader's questions: what is wrong, on which bytes, how to see it again, and why it is wrong.
function makeCasePage(c, delivery, i) {
  const testCase = cases[c];
  const failure = delivery !== null && i !== null ? findFailure(c, i, delivery) : null;
  const about = run.about[c];
  return [
    el(
      "nav",
      { class: "trail", "aria-label": "Where you are" },
      el("a", { href: lastList, id: "back" }, "← All results"),
      makeSteps(failure),
    ),
    el(
      "div",
      { class: "top" },
      el("h1", { tabindex: "-1", id: "case-title" }, escapeNodes(testCase.title || testCase.id)),
      el(
        "p",
        { class: "id" },
        el("code", {}, escapeNodes(trialId(c, delivery || ""))),
        " ",
        copyButton(trialId(c, delivery || ""), "the id of the trial"),
        " ",
        copyButton(() => location.href, "to this page", "Copy link"),
      ),
    ),
    ...(failure
      ? makeFailureSections(failure, about)
      : [makeTrialTable(c, delivery, i), ...explainNoDetails(c, delivery, i)]),
    makeReasons(testCase, about, !failure),
    about?.body !== undefined && makeRequestSection(about),
    about &&
      "input" in about &&
      makeSection("Input", makeBox("Input of the function", escapeNodes(toText(about.input)))),
  ].filter(Boolean);
}

// Why this is expected: folded to one line, unless the page has nothing else to show.
function makeReasons(testCase, about, isOpen) {
  const guards = about?.guards || [];
  const counts = [
    about?.evidence?.length && formatCount(about.evidence.length, "documented fact"),
    guards.length && `guards against ${formatCount(guards.length, "bug")}`,
  ];
  return el(
    "details",
    { class: "reasons", open: isOpen },
    el(
      "summary",
      {},
      el("h2", {}, "Why this is expected"),
      el("span", { class: "dim" }, ` ${counts.filter(Boolean).join(", ")}`),
    ),
    about?.why && el("p", { class: "why" }, escapeNodes(about.why)),
    el(
      "dl",
      { class: "facts" },
      makeFact("Evidence", makeEvidence(about?.evidence || [])),
      makeFact("Guards against", joinNodes(guards.map(bugLink))),
      makeFact("See also", joinNodes((about?.sources || []).map((source) => link(source, source)))),
      makeFact(
        "Tags",
        joinNodes(
          testCase.tags.map((tag) =>
            el("a", { href: `#${new URLSearchParams({ tag: run.tags[tag] })}` }, escapeNodes(run.tags[tag])),
          ),
        ),
      ),
      makeFact("Spec", about?.spec ? [el("code", {}, escapeNodes(about.spec))] : []),
      makeFact(
        "Cassette",
        about?.cassette ? [el("code", {}, escapeNodes(about.cassette)), `, ${escapeText(about.provenance)}`] : [],
      ),
    ),
  );
}

// The evidence for the case: each fact, with the page that states it or the recording that shows it.
function makeEvidence(facts) {
  if (!facts.length) return [];
  return [
    el(
      "ul",
      { class: "evidence" },
      facts.map(([says, from, read]) =>
        el(
          "li",
          {},
          escapeNodes(says),
          " ",
          /^https?:/.test(from) ? link(from, from) : el("span", { class: "dim" }, "observed: ", escapeNodes(from)),
          el("span", { class: "dim" }, `, read ${read}`),
        ),
      ),
    ),
  ];
}

function makeSteps(failure) {
  // Step through the failures that match the list's filters, and this one: a page opened by its address may not match them.
  const listed = inOrder.filter((other) => other === failure || matchesFilters(other));
  const at = listed.indexOf(failure);
  if (at < 0) return null;
  const to = (next, label) => next && el("a", { href: addressOf(next.c, next.d[0], next.i) }, label);
  return el(
    "span",
    { class: "steps" },
    to(listed[at - 1], "previous failure"),
    el("span", { class: "dim" }, `${formatNumber(at + 1)} of ${formatNumber(listed.length)}`),
    to(listed[at + 1], "next failure"),
  );
}

// Every delivery of the case, for each implementation; if all passed or all were skipped, only their number.
function makeTrialTable(c, delivery, i) {
  const testCase = cases[c];
  const letters = new Set(run.impls.flatMap((_, at) => [...listLetters(at, c)]).filter((letter) => letter !== "."));
  const rows = run.impls
    .map((info, at) => {
      const all = listLetters(at, c);
      const chips = testCase.set
        .map((delivery_, place) => [run.deliveries[delivery_], all[place]])
        .filter(([, letter]) => letter !== ".");
      if (!chips.length) return null;
      const same = new Set(chips.map(([, letter]) => letter)).size === 1 && "px".includes(chips[0][1]);
      const list = same
        ? el(
            "span",
            { class: "dim" },
            makeSign(chips[0][1]),
            ` ${formatCount(chips.length, "trial")} ${chips[0][1] === "p" ? "passed" : "skipped"}`,
          )
        : el(
            "ul",
            { class: "chips" },
            chips.map(([name, letter]) =>
              el(
                "li",
                {},
                el(
                  "a",
                  {
                    href: addressOf(c, name, at),
                    class: `trial v-${letter}`,
                    "aria-current": at === i && name === delivery ? "true" : null,
                  },
                  makeSign(letter),
                  " ",
                  escapeText(name || "call"),
                  el("span", { class: "off" }, ` ${LABELS[letter]}`),
                ),
              ),
            ),
          );
      return el(
        "tr",
        { class: at === i ? "current" : null },
        el("th", { scope: "row" }, info.name),
        el("td", {}, list),
      );
    })
    .filter(Boolean);
  return el(
    "div",
    { class: "wide", tabindex: "0", role: "region", "aria-label": "Trials of this case" },
    el("table", { class: "trials" }, el("caption", { class: "off" }, "Trials of this case"), el("tbody", {}, rows)),
    letters.size > 1 &&
      el(
        "ul",
        { class: "legend" },
        [...LETTERS]
          .filter((letter) => letters.has(letter))
          .map((letter) => el("li", {}, makeSign(letter), ` ${LABELS[letter]}`)),
      ),
  );
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
  return [
    makeSection(
      "No details",
      el("p", {}, messages[letter] || "No trial of this case failed, or none is selected."),
      makeCommand(text, "show it"),
    ),
  ];
}

function makeCommand(text, label) {
  return el(
    "div",
    { class: "command" },
    el("span", { class: "dim" }, label),
    el("code", {}, escapeNodes(text)),
    copyButton(text, "the command"),
  );
}

function makeFailureSections(failure, about) {
  const wire = findWire(trialId(failure.c, failure.d[0]));
  const also =
    failure.d.length > 1
      ? `The same failure in ${formatCount(failure.d.length, "delivery")}: ${failure.d.map(escapeText).join(", ")}.`
      : "";
  const differences = listDifferences(failure);
  const letter = LETTER[failure.verdict];
  return [
    el(
      "p",
      { class: "cause-line" },
      makeSign(letter),
      " ",
      el("b", {}, LABELS[letter]),
      failure.cause && [": ", el("b", {}, markCode(failure.cause.what)), ` (${escapeText(failure.cause.harm)})`],
    ),
    makeSection(
      "Differences",
      failure.known && el("p", { class: "note" }, "Known: ", escapeNodes(failure.known)),
      failure.raised && el("p", { class: "reason" }, el("code", {}, escapeNodes(failure.raised))),
      failure.reason && el("p", { class: "reason" }, escapeNodes(failure.reason)),
      makeDifferences(differences, wire),
      failure.more && el("p", { class: "dim" }, `and ${failure.more} more failed checks`),
      failure.left_out && el("p", { class: "note" }, escapeNodes(failure.left_out)),
      !failure.checks && [
        el(
          "pre",
          { class: "words" },
          failure.lines.map((line) => [...escapeNodes(line), "\n"]),
        ),
        el("p", { class: "note" }, "The values are left out to keep the page small."),
      ],
      failure.traceback &&
        el(
          "details",
          { open: !failure.checks?.length },
          el("summary", {}, "Traceback"),
          makeBox(
            "Traceback",
            failure.traceback.split("\n").map((line) => [...escapeNodes(line), "\n"]),
          ),
        ),
      failure.requests?.length > 0 &&
        el(
          "p",
          { class: "dim" },
          "Requests from the client: ",
          joinNodes(failure.requests.slice(0, 8).map((request) => el("code", {}, request))),
        ),
      also && el("p", { class: "dim" }, also),
      failure.right?.length &&
        el(
          "details",
          {},
          el("summary", {}, `${formatCount(failure.right.length, "other check")} passed`),
          el(
            "table",
            { class: "list" },
            el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "check"), el("th", { scope: "col" }, "value"))),
            el(
              "tbody",
              {},
              failure.right.map(([path, value]) =>
                el(
                  "tr",
                  {},
                  el("th", { scope: "row" }, el("code", {}, escapeNodes(path))),
                  el("td", { class: "code" }, escapeNodes(value)),
                ),
              ),
            ),
          ),
        ),
    ),
    makeTrialTable(failure.c, failure.d[0], failure.i),
    wire
      ? makeWireSection(failure, wire, differences)
      : about?.function === undefined &&
        makeSection(
          "Wire",
          el(
            "p",
            { class: "note" },
            about
              ? "The bytes are left out to keep the page small."
              : "The bytes are missing, because the suite could not be read when the page was made.",
          ),
        ),
    makeSection(
      "Reproduce",
      makeCommand(failure.run, "run it"),
      failure.explain && makeCommand(failure.explain, "explain it"),
      failure.minimise && makeCommand(failure.minimise, "minimise it"),
    ),
  ].filter(Boolean);
}

function makeRequestSection(about) {
  const body = toText(about.body);
  const headers = Object.entries(about.headers || {});
  return makeSection(
    "Request and response",
    el(
      "p",
      {},
      el("code", {}, escapeNodes(about.request)),
      about.model && [" model ", el("code", {}, escapeNodes(about.model))],
      " ",
      copyButton(body, "the body of the request"),
    ),
    el(
      "details",
      {},
      el("summary", {}, "Body of the request"),
      makeBox(
        "Body of the request",
        expandable(body, (text) => text.split("\n").flatMap((line) => [...escapeNodes(line), "\n"]), 6000),
      ),
    ),
    el(
      "p",
      {},
      `Response: status ${about.status}`,
      headers.length > 0 &&
        el("span", { class: "dim" }, ", ", escapeText(headers.map(([key, value]) => `${key}: ${value}`).join(", "))),
    ),
  );
}
