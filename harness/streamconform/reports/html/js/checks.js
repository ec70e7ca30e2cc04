// The differences of a failure: short values in a table, longer ones side by side, a call as one object, and counts and amounts as a
// bill. Each difference that has frames has a color, and a number if there are several.

const LINES_SHOWN = 3;
const COLORS = 6; // .c1 to .c6 in case.css
const SHORT_VALUE = 48;

// Returns the differences, the cause first, as {checks, frames, color, number} and `call` or `bill`.
function listDifferences(failure) {
  const list = [];
  let bill = null;
  for (const check of failure.checks || []) {
    const call = failure.calls?.find((other) => other.checks.includes(check.path));
    const known = call
      ? list.find((difference) => difference.call === call)
      : failure.bill?.checks.includes(check.path)
        ? bill
        : null;
    if (known) known.checks.push(check);
    else if (call) list.push({ call, checks: [check] });
    else if (failure.bill?.checks.includes(check.path)) {
      bill = { bill: failure.bill, checks: [check] };
      list.push(bill);
    } else list.push({ checks: [check] });
  }
  const isShort = ({ call, bill: one, checks }) => !call && !one && shortValues(checks[0]) !== null;
  const rank = (difference) =>
    difference.checks.some((check) => check.path === failure.root) ? 0 : isShort(difference) ? 1 : 2;
  const sorted = list.sort((one, other) => rank(one) - rank(other));
  for (const difference of sorted) {
    difference.short = isShort(difference);
    difference.frames = [...new Set(difference.checks.flatMap((check) => check.frames))].sort((a, b) => a - b);
  }
  const framed = sorted.filter(({ frames }) => frames.length);
  framed.forEach((difference, at) => {
    difference.color = `c${(at % COLORS) + 1}`;
    difference.number = framed.length > 1 ? at + 1 : 0;
  });
  return sorted;
}

function makeBadge({ number, color }) {
  return number
    ? el(
        "span",
        { class: `badge ${color}`, title: `difference ${number}` },
        el("span", { class: "off" }, "difference "),
        String(number),
      )
    : null;
}

function makeDifferences(differences, wire) {
  const nodes = [];
  for (let at = 0; at < differences.length; at += 1) {
    const difference = differences[at];
    if (difference.short) {
      const end = differences.findIndex((other, n) => n > at && !other.short);
      const rows = differences.slice(at, end < 0 ? undefined : end);
      nodes.push(makeShortTable(rows, wire));
      at += rows.length - 1;
    } else if (difference.call) nodes.push(makeCallDifference(difference, wire));
    else nodes.push(difference.bill ? makeBill(difference, wire) : makeDifference(difference, wire));
  }
  return nodes;
}

function makeShortTable(rows, wire) {
  return el(
    "div",
    { class: "wide", tabindex: "0", role: "region", "aria-label": "Short values that differ" },
    el(
      "table",
      { class: "briefly" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ["check", "expected", "got", "relevant frames"].map((name) => el("th", { scope: "col" }, name)),
        ),
      ),
      el(
        "tbody",
        {},
        rows.map((difference) => makeShortRow(difference, wire)),
      ),
    ),
  );
}

function makeShortRow(difference, wire) {
  const [check] = difference.checks;
  const [one, other] = shortValues(check);
  const sides = check.message ? null : diffTexts(one, other);
  return el(
    "tr",
    {},
    el(
      "th",
      { scope: "row" },
      makeSign(LETTER[check.verdict] || "m", check.verdict),
      " ",
      el("code", {}, escapeNodes(check.path)),
      el("small", {}, describeLevel(check)),
    ),
    sides
      ? [
          el("td", { class: "code one" }, drawSegments(sides[0], "e", true)),
          el(
            "td",
            { class: "code other" },
            drawSegments(sides[1], "g", true),
            check.signature && el("small", {}, describeSignature(check.signature)),
          ),
        ]
      : [el("td", { class: "code one" }, escapeNodes(one)), el("td", { class: "code other" }, escapeNodes(other))],
    el(
      "td",
      { class: "frames" },
      difference.frames.length
        ? [makeBadge(difference), " ", makeFrameLinks(difference.frames, wire)]
        : el("span", { class: "dim" }, "none"),
    ),
  );
}

function describeLevel(check) {
  return check.verdict === "fail" ? "" : `${check.verdict}, level ${check.level}`;
}

function describeSignature({ byte, sizes: [expected, got] }) {
  if (byte === got) return `ends after byte ${formatNumber(got)} of ${formatNumber(expected)}`;
  if (byte === expected) return `continues after byte ${formatNumber(expected)}, the last`;
  const sizes =
    expected === got
      ? ` of ${formatNumber(got)}`
      : ` (expected ${formatCount(expected, "byte")}, got ${formatNumber(got)})`;
  return `differs from byte ${formatNumber(byte)}${sizes}`;
}

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

const RANGES_SHOWN = 8;

// Returns links to frames; consecutive numbers are one range, whose link leads to the first.
function makeFrameLinks(frames, wire) {
  const ranges = [];
  for (const n of frames) {
    const last = ranges[ranges.length - 1];
    if (last && n === last[1] + 1) last[1] = n;
    else ranges.push([n, n]);
  }
  const links = ranges.slice(0, RANGES_SHOWN).map(([first, last]) => {
    const text = first === last ? String(first) : `${first}-${last}`;
    return wire && first < wire.frames.length
      ? el(
          "a",
          {
            href: `#frame-${first}`,
            onclick: (event) => {
              event.preventDefault();
              showFrame(first);
            },
          },
          text,
        )
      : text;
  });
  return [
    joinNodes(links),
    ranges.length > RANGES_SHOWN && ` and ${formatCount(ranges.length - RANGES_SHOWN, "more range")}`,
  ];
}

function makeRelevant(difference, wire) {
  return (
    difference.frames.length > 0 &&
    el(
      "p",
      { class: "relevant" },
      `Relevant frame${difference.frames.length > 1 ? "s" : ""}: `,
      makeFrameLinks(difference.frames, wire),
    )
  );
}

function makeTitle(difference, path, details) {
  const worst = difference.checks.find((check) => check.verdict === "fail") || difference.checks[0];
  return el(
    "h3",
    {},
    makeBadge(difference),
    makeSign(LETTER[worst.verdict] || "m", worst.verdict),
    " ",
    el("code", {}, escapeNodes(path)),
    el("small", {}, details),
  );
}

function makeDifference(difference, wire) {
  const [check] = difference.checks;
  const title = makeTitle(difference, check.path, `${check.verdict}, level ${check.level}`);
  if (check.message && (check.expected === null || check.expected === undefined || check.got === null)) {
    const expected =
      check.expected === null || check.expected === undefined
        ? null
        : el(
            "p",
            { class: "dim" },
            "expected ",
            el("code", {}, expandable(describeMatcher(check.expected) || toText(check.expected))),
          );
    return el(
      "div",
      { class: "check" },
      title,
      el("p", { class: "reason" }, markCode(check.message)),
      expected,
      makeRelevant(difference, wire),
    );
  }
  const matcher = describeMatcher(check.expected);
  const { rows, json } = matcher
    ? { rows: [[[[true, matcher]], [[true, toText(check.got)]], false]], json: true }
    : alignLines(check.expected, check.got);
  return el(
    "div",
    { class: "check" },
    title,
    check.message && el("p", { class: "reason" }, markCode(check.message)),
    check.since &&
      el(
        "p",
        { class: "dim" },
        `Shown from character ${formatNumber(check.since[0])}; expected ${formatNumber(check.since[1])}, got ${formatNumber(check.since[2])} characters.`,
      ),
    makeSides(check.path, check.expected, check.got, rows, json),
    makeRelevant(difference, wire),
  );
}

// A call as one object, with the fields that are right, so that a reader sees what would have been called.
function makeCallDifference(difference, wire) {
  const { path, expected, got } = difference.call;
  const described = Object.fromEntries(
    Object.entries(expected).map(([name, value]) => [name, describeMatcher(value) ?? value]),
  );
  const messages = [...new Set(difference.checks.map((check) => check.message).filter(Boolean))];
  const { rows, json } =
    got === null
      ? {
          rows: formatJson(described)
            .split("\n")
            .map((line) => [[[true, line]], null, false]),
          json: true,
        }
      : alignLines(described, got);
  const fields = difference.checks.map(
    (check) =>
      `${check.path.slice(path.length + 1)}: ${check.verdict}${check.verdict === "fail" ? "" : `, level ${check.level}`}`,
  );
  return el(
    "div",
    { class: "check" },
    makeTitle(difference, path, fields.join("; ")),
    messages.map((message) => el("p", { class: "reason" }, markCode(message))),
    makeSides(path, described, got, rows, json),
    makeRelevant(difference, wire),
  );
}

// Counts and amounts line by line: with the difference, and the price behind each amount.
function makeBill(difference, wire) {
  const { lines, factors, notes } = difference.bill;
  const priced = lines.some((line) => line.price);
  const parts = (line) => [line.count, line.amount].filter(Boolean);
  const cells = (line, at, side) =>
    el(
      "td",
      { class: "n" },
      parts(line).map((part) => el("div", { class: part[3] === "pass" ? null : side }, escapeNodes(part[at]))),
    );
  const rows = lines.map((line) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, line.name),
      cells(line, 0, "one"),
      cells(line, 1, "other"),
      el(
        "td",
        { class: "n apart" },
        parts(line).map(
          (part) =>
            part[3] !== "pass" && el("div", {}, [makeSign(LETTER[part[3]] || "m", part[3]), " ", el("b", {}, part[2])]),
        ),
      ),
      priced && el("td", { class: "n dim price" }, line.price),
    ),
  );
  const heads = ["", "expected", "got", "difference", priced && "price"].filter((name) => name !== false);
  return el(
    "div",
    { class: "check" },
    makeTitle(difference, priced ? "usage and cost" : "usage", ""),
    notes.map((note) => el("p", { class: "reason" }, markCode(note))),
    el(
      "div",
      { class: "wide", tabindex: "0", role: "region", "aria-label": "The answer as a bill" },
      el(
        "table",
        { class: "bill" },
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            heads.map((name, at) => (name ? el("th", { scope: "col", class: at ? "n" : null }, name) : el("td", {}))),
          ),
        ),
        el("tbody", {}, rows),
      ),
    ),
    Object.keys(factors).length > 0 &&
      el("p", { class: "dim" }, "Other prices and factors: ", el("code", {}, escapeNodes(JSON.stringify(factors)))),
    makeRelevant(difference, wire),
  );
}

// Two values side by side; long runs of equal lines are folded.
function makeSides(path, expected, got, rows, json) {
  const body = el(
    "tbody",
    {},
    foldEqualLines(rows).map((row) => {
      if (row.fold) {
        const line = el(
          "tr",
          { class: "gap" },
          el("td", { colspan: 2 }, el("button", { type: "button", class: "more" }, `${row.fold.length} equal lines`)),
        );
        line
          .querySelector("button")
          .addEventListener("click", () => line.replaceWith(...row.fold.map((hidden) => makeLine(hidden, json))));
        return line;
      }
      return makeLine(row, json);
    }),
  );
  const names = [
    ["expected", expected, "the expected value"],
    ["got", got, "the actual value"],
  ];
  const heads = names.map(([name, value, what]) =>
    el("th", { scope: "col" }, name, " ", copyButton(toText(value), what)),
  );
  return el(
    "div",
    { class: "wide", tabindex: "0", role: "region", "aria-label": `Expected and got: ${escapeText(path)}` },
    el("table", { class: "sides" }, el("thead", {}, el("tr", {}, heads)), body),
  );
}

function makeLine([left, right, same], json) {
  const of = (segments, side) =>
    el("td", { class: segments === null ? "none" : null }, segments === null ? "" : drawSegments(segments, side, json));
  return el("tr", { class: same ? null : "differs" }, of(left, "e"), of(right, "g"));
}

function foldEqualLines(rows) {
  const folded = [];
  for (let at = 0; at < rows.length; ) {
    let end = at;
    while (end < rows.length && rows[end][2]) end += 1;
    const head = at ? LINES_SHOWN : 0;
    const tail = end < rows.length ? LINES_SHOWN : 0;
    if (end - at > head + tail + 3)
      folded.push(
        ...rows.slice(at, at + head),
        { fold: rows.slice(at + head, end - tail) },
        ...rows.slice(end - tail, end),
      );
    else folded.push(...rows.slice(at, end));
    if (end < rows.length) folded.push(rows[end]);
    at = end + 1;
  }
  return folded;
}
