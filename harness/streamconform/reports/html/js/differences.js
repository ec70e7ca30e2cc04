// Two values beside each other: lines aligned, and what differs marked inside them.

const MOST_PAIRS = 3000000;
const SAME_SHOWN = 160;

// [kind, from a, to a, from b, to b] runs of two lists; kind is true where they are the same.
function runs(a, b) {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const endA = a.length - tail;
  const endB = b.length - tail;
  const found = head ? [[true, 0, head, 0, head]] : [];
  const n = endA - head;
  const m = endB - head;
  if (n * m && n * m <= MOST_PAIRS) found.push(...longest(a.slice(head, endA), b.slice(head, endB), head));
  else if (n || m) found.push([false, head, endA, head, endB]);
  if (tail) found.push([true, endA, a.length, endB, b.length]);
  return found;
}

// The same of the part between, by the longest common subsequence.
function longest(a, b, at) {
  const width = b.length + 1;
  const best = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      best[i * width + j] = a[i] === b[j]
        ? best[(i + 1) * width + j + 1] + 1
        : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
    }
  }
  const found = [];
  const push = (same, i, j, toI, toJ) => {
    const last = found[found.length - 1];
    if (last && last[0] === same) { last[2] = at + toI; last[4] = at + toJ; }
    else found.push([same, at + i, at + toI, at + j, at + toJ]);
  };
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) { push(true, i, j, i + 1, j + 1); i += 1; j += 1; }
    else if (best[(i + 1) * width + j] >= best[i * width + j + 1]) { push(false, i, j, i + 1, j); i += 1; }
    else { push(false, i, j, i, j + 1); j += 1; }
  }
  if (i < a.length || j < b.length) push(false, i, j, a.length, b.length);
  return found;
}

// Two texts to segments [differs, text] of each: by words, and inside words that are replaced by their ends.
function marked(a, b) {
  const words = (text) => text.match(/[\p{L}\p{N}_]+|\s|[^\p{L}\p{N}_\s]/gu) || [];
  const one = words(a);
  const other = words(b);
  const sides = [[], []];
  const add = (side, differs, text) => {
    const last = sides[side][sides[side].length - 1];
    if (!text) return;
    if (last && last[0] === differs) last[1] += text;
    else sides[side].push([differs, text]);
  };
  for (const [same, i, toI, j, toJ] of runs(one, other)) {
    const left = one.slice(i, toI).join("");
    const right = other.slice(j, toJ).join("");
    if (same) { add(0, false, left); add(1, false, right); continue; }
    const [head, tail] = left && right && !/^[\d.]+$/.test(left) ? ends(left, right) : [0, 0];
    for (const [side, text] of [[0, left], [1, right]]) {
      add(side, false, text.slice(0, head));
      add(side, true, text.slice(head, text.length - tail));
      add(side, false, text.slice(text.length - tail));
    }
  }
  return sides;
}

// How many characters two texts share at both ends; never half of a character.
function ends(a, b) {
  const one = [...a];
  const other = [...b];
  let head = 0;
  while (head < one.length && head < other.length && one[head] === other[head]) head += 1;
  let tail = 0;
  const most = Math.min(one.length, other.length) - head;
  while (tail < most && one[one.length - 1 - tail] === other[other.length - 1 - tail]) tail += 1;
  return [one.slice(0, head).join("").length, one.slice(one.length - tail).join("").length];
}

// JSON as text, the keys of `like` first and in its order.
function pretty(given, like) {
  const sorted = (value, model) => {
    if (Array.isArray(value)) return value.map((each, i) => sorted(each, Array.isArray(model) ? model[i] : undefined));
    if (value === null || typeof value !== "object") return value;
    const order = model && typeof model === "object" && !Array.isArray(model) ? Object.keys(model) : [];
    const keys = [...order.filter((key) => Object.hasOwn(value, key)), ...Object.keys(value).filter((key) => !order.includes(key))];
    return Object.fromEntries(keys.map((key) => [key, sorted(value[key], model?.[key])]));
  };
  return JSON.stringify(sorted(given, like), null, 2) ?? "null";
}

// Matchers in words; everything else as what it is.
function matcher(given) {
  if (given === null || typeof given !== "object" || Object.keys(given).length !== 1) return null;
  if (typeof given.matches === "string") return `text that matches ${given.matches}`;
  if (typeof given.present === "boolean") return given.present ? "anything but null" : "null";
  if (typeof given.prefix_of === "string") return `a beginning of ${JSON.stringify(given.prefix_of)}`;
  if (Array.isArray(given.any_of)) return `one of ${given.any_of.map((each) => JSON.stringify(each)).join(", ")}`;
  return null;
}

function asText(given, like) {
  return typeof given === "string" && (like === undefined || typeof like === "string" || like === null) ? given : pretty(given, like);
}

// Rows of [segments or null, segments or null] for two values.
function aligned(expected, got) {
  const texts = typeof expected === "string" && typeof got === "string";
  const left = texts ? expected : asText(expected);
  const right = texts ? got : asText(got, typeof expected === "string" ? undefined : expected);
  const lines = (text) => text.split(/(?<=\n)/);
  const one = lines(left);
  const other = lines(right);
  const rows = [];
  for (const [same, i, toI, j, toJ] of runs(one, other)) {
    if (same) { for (let k = 0; k < toI - i; k += 1) rows.push([[[false, one[i + k]]], [[false, other[j + k]]], true]); continue; }
    for (let k = 0; k < Math.max(toI - i, toJ - j); k += 1) {
      const a = i + k < toI ? one[i + k] : null;
      const b = j + k < toJ ? other[j + k] : null;
      if (a !== null && b !== null) rows.push([...marked(a, b), false]);
      else rows.push([a === null ? null : [[true, a]], b === null ? null : [[true, b]], false]);
    }
  }
  return { rows, json: !texts };
}

// The nodes of one side of a row; long stretches that are the same fold.
function drawn(segments, side, json) {
  const show = (text) => visible(json ? text.replace(/\n$/, "") : text);
  return segments.map(([differs, text], at) => {
    if (differs) return el("mark", { class: side }, show(text));
    if (text.length <= 3 * SAME_SHOWN) return show(text);
    const head = at ? SAME_SHOWN : 0;
    const tail = at < segments.length - 1 ? SAME_SHOWN : 0;
    const fold = el("button", { type: "button", class: "more" }, `… ${number(text.length - head - tail)} characters that are the same …`);
    const box = el("span", {}, show(text.slice(0, head)), fold, show(text.slice(text.length - tail)));
    fold.addEventListener("click", () => box.replaceChildren(...show(text)));
    return box;
  });
}
