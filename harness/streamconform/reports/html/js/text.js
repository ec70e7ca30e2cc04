// Elements, and text from outside: it only ever becomes text, and what does not print is spelled out.

const NOT_GRAPHIC = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;
const SHORT = { 9: "\\t", 10: "\\n", 13: "\\r" };

function el(name, given, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(given || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(4).filter((each) => each !== null && each !== undefined && each !== false));
  return made;
}

function escaped(character) {
  const point = character.codePointAt(0);
  if (SHORT[point]) return SHORT[point];
  const hex = point.toString(16);
  if (point < 0x100) return `\\x${hex.padStart(2, "0")}`;
  return point < 0x10000 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}

function legible(text) {
  return String(text).replace(NOT_GRAPHIC, escaped);
}

// Nodes for `text`: escapes are set apart, so that `\n` that was sent as two characters does not look like one.
function visible(text) {
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(NOT_GRAPHIC)) {
    if (found.index > from) nodes.push(text.slice(from, found.index));
    nodes.push(el("span", { class: "esc" }, escaped(found[0])));
    if (found[0] === "\n") nodes.push(document.createElement("wbr"), "\n");
    from = found.index + found[0].length;
  }
  if (from < text.length) nodes.push(text.slice(from));
  return nodes;
}

const SHOWN = 2400;

// A long text in part, with a button for the rest.
function long(text, draw = visible, shown = SHOWN) {
  if (text.length <= shown * 1.2) return draw(text);
  const rest = el("button", { type: "button", class: "more" }, `show all ${number(text.length)} characters`);
  const box = el("span", {}, draw(text.slice(0, shown)), "… ", rest);
  rest.addEventListener("click", () => box.replaceChildren(...draw(text)));
  return [box];
}

const grouped = new Intl.NumberFormat("en"); // one for all: to make one takes longer than to use it

function number(value) {
  return value < 1000 ? String(value) : grouped.format(value);
}

function counted(count, word) {
  return `${number(count)} ${word}${count === 1 ? "" : "s"}`;
}

function say(words) {
  document.getElementById("said").textContent = words;
}

async function toClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el("textarea", { readonly: true, class: "off", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

function copier(text, what, label = "Copy") {
  const button = el("button", { type: "button", class: "copy", "aria-label": `Copy ${what}` }, label);
  button.addEventListener("click", async () => {
    await toClipboard(typeof text === "function" ? text() : text);
    button.textContent = "Copied";
    say(`Copied ${what}`);
    setTimeout(() => { button.textContent = label; }, 1500);
  });
  return button;
}

// A link, where it is one of the web; anything else is text.
function link(address, words) {
  if (!/^https?:\/\/[^\s]+$/i.test(address)) return el("span", {}, visible(words));
  return el("a", { href: address, rel: "noreferrer noopener", target: "_blank" }, visible(words));
}

function bug(id) {
  const found = /^([\w.-]+\/[\w.-]+)#(\d+)$/.exec(id);
  return found ? link(`https://github.com/${found[1]}/issues/${found[2]}`, id) : link(id, id);
}

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
  return bytes;
}

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
