// Two values side by side: lines aligned, and the differences marked inside them.

const MAX_PAIRS = 3000000; // above this the quadratic comparison would freeze the page
const SAME_SHOWN = 160;

// Returns the runs [same, from a, to a, from b, to b] of two lists.
function diffSequences(a, b) {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail])
    tail += 1;
  const endA = a.length - tail;
  const endB = b.length - tail;
  const runs = head ? [[true, 0, head, 0, head]] : [];
  const n = endA - head;
  const m = endB - head;
  if (n * m && n * m <= MAX_PAIRS) runs.push(...diffBySubsequence(a.slice(head, endA), b.slice(head, endB), head));
  else if (n || m) runs.push([false, head, endA, head, endB]);
  if (tail) runs.push([true, endA, a.length, endB, b.length]);
  return runs;
}

// Returns the same runs for the part between the common ends, by the longest common subsequence.
function diffBySubsequence(a, b, at) {
  const width = b.length + 1;
  // 16 bits are enough: with at most `MAX_PAIRS` pairs, the shorter list has at most 1,732 items.
  const best = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      best[i * width + j] =
        a[i] === b[j]
          ? best[(i + 1) * width + j + 1] + 1
          : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
    }
  }
  const runs = [];
  const push = (same, i, j, toI, toJ) => {
    const last = runs[runs.length - 1];
    if (last && last[0] === same) {
      last[2] = at + toI;
      last[4] = at + toJ;
    } else runs.push([same, at + i, at + toI, at + j, at + toJ]);
  };
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      push(true, i, j, i + 1, j + 1);
      i += 1;
      j += 1;
    } else if (best[(i + 1) * width + j] >= best[i * width + j + 1]) {
      push(false, i, j, i + 1, j);
      i += 1;
    } else {
      push(false, i, j, i, j + 1);
      j += 1;
    }
  }
  if (i < a.length || j < b.length) push(false, i, j, a.length, b.length);
  return runs;
}

// Returns segments [differs, text] of two texts, compared word by word; the common start and end of replaced words count as equal.
function diffTexts(a, b) {
  const splitWords = (text) => text.match(/[\p{L}\p{N}_]+|\s|[^\p{L}\p{N}_\s]/gu) || [];
  const one = splitWords(a);
  const other = splitWords(b);
  const sides = [[], []];
  const add = (side, differs, text) => {
    const last = sides[side][sides[side].length - 1];
    if (!text) return;
    if (last && last[0] === differs) last[1] += text;
    else sides[side].push([differs, text]);
  };
  for (const [same, i, toI, j, toJ] of diffSequences(one, other)) {
    const left = one.slice(i, toI).join("");
    const right = other.slice(j, toJ).join("");
    if (same) {
      add(0, false, left);
      add(1, false, right);
      continue;
    }
    // Numbers and JSON's words are marked as a whole, because the characters that two of them share mean nothing.
    const [head, tail] =
      left && right && !/^([\d.]+|true|false|null)$/.test(left) ? countCommonEnds(left, right) : [0, 0];
    for (const [side, text] of [
      [0, left],
      [1, right],
    ]) {
      add(side, false, text.slice(0, head));
      add(side, true, text.slice(head, text.length - tail));
      add(side, false, text.slice(text.length - tail));
    }
  }
  return sides;
}

// Returns the length of the common start and the common end of two texts; a surrogate pair is never split.
function countCommonEnds(a, b) {
  const one = [...a];
  const other = [...b];
  let head = 0;
  while (head < one.length && head < other.length && one[head] === other[head]) head += 1;
  let tail = 0;
  const most = Math.min(one.length, other.length) - head;
  while (tail < most && one[one.length - 1 - tail] === other[other.length - 1 - tail]) tail += 1;
  return [one.slice(0, head).join("").length, one.slice(one.length - tail).join("").length];
}

// Returns JSON text with the keys of `like` first and in its order, so that equal members are on equal lines.
function formatJson(input, like) {
  const sorted = (value, model) => {
    if (Array.isArray(value)) return value.map((item, i) => sorted(item, Array.isArray(model) ? model[i] : undefined));
    if (value === null || typeof value !== "object") return value;
    const order = model && typeof model === "object" && !Array.isArray(model) ? Object.keys(model) : [];
    const keys = [
      ...order.filter((key) => Object.hasOwn(value, key)),
      ...Object.keys(value).filter((key) => !order.includes(key)),
    ];
    return Object.fromEntries(keys.map((key) => [key, sorted(value[key], model?.[key])]));
  };
  return JSON.stringify(sorted(input, like), null, 2) ?? "null";
}

// Returns the description of a matcher, or null for any other value.
function describeMatcher(value) {
  if (value === null || typeof value !== "object") return null;
  const list = (items) => items.map((item) => JSON.stringify(item)).join(", ");
  if (Array.isArray(value.any_of) && Array.isArray(value.prefer)) {
    return `${list(value.prefer)} (or, with a warning, ${list(value.any_of.filter((item) => !value.prefer.includes(item)))})`;
  }
  if (Object.keys(value).length === 2 && Number.isInteger(value.length) && typeof value.sha256 === "string") {
    return `${value.length} characters with the SHA-256 ${value.sha256.slice(0, 12)}…`;
  }
  if (Object.keys(value).length !== 1) return null;
  if (typeof value.matches === "string") return `text that matches ${value.matches}`;
  if (typeof value.present === "boolean") return value.present ? "any value except null" : "null";
  if (typeof value.prefix_of === "string") return `a prefix of ${JSON.stringify(value.prefix_of)}`;
  if (Array.isArray(value.any_of)) return `one of ${list(value.any_of)}`;
  return null;
}

function toText(value, like) {
  return typeof value === "string" && (like === undefined || typeof like === "string" || like === null)
    ? value
    : formatJson(value, like);
}

// Returns rows of [segments or null, segments or null, same] for two values.
function alignLines(expected, got) {
  const texts = typeof expected === "string" && typeof got === "string";
  const left = texts ? expected : toText(expected);
  const right = texts ? got : toText(got, typeof expected === "string" ? undefined : expected);
  const lines = (text) => text.split(/(?<=\n)/);
  const one = lines(left);
  const other = lines(right);
  const rows = [];
  for (const [same, i, toI, j, toJ] of diffSequences(one, other)) {
    if (same) {
      for (let k = 0; k < toI - i; k += 1) rows.push([[[false, one[i + k]]], [[false, other[j + k]]], true]);
      continue;
    }
    for (let k = 0; k < Math.max(toI - i, toJ - j); k += 1) {
      const a = i + k < toI ? one[i + k] : null;
      const b = j + k < toJ ? other[j + k] : null;
      if (a !== null && b !== null) rows.push([...diffTexts(a, b), false]);
      else rows.push([a === null ? null : [[true, a]], b === null ? null : [[true, b]], false]);
    }
  }
  return { rows, json: !texts };
}

// Returns the nodes of one side of a row; long equal stretches are folded.
function drawSegments(segments, side, json) {
  const show = (text) => escapeNodes(json ? text.replace(/\n$/, "") : text);
  return segments.map(([differs, text], at) => {
    if (differs) return el("mark", { class: side }, show(text));
    if (text.length <= 3 * SAME_SHOWN) return show(text);
    const head = at ? SAME_SHOWN : 0;
    const tail = at < segments.length - 1 ? SAME_SHOWN : 0;
    const fold = el(
      "button",
      { type: "button", class: "more" },
      `… ${formatNumber(text.length - head - tail)} equal characters …`,
    );
    const box = el("span", {}, show(text.slice(0, head)), fold, show(text.slice(text.length - tail)));
    fold.addEventListener("click", () => box.replaceChildren(...show(text)));
    return box;
  });
}
