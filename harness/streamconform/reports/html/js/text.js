// Elements and text. Untrusted text always becomes text nodes, never markup; characters that do not print are escaped.

const NOT_GRAPHIC = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;
const SHORT = { 9: "\\t", 10: "\\n", 13: "\\r" };

function el(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "class") element.className = value;
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(4).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

function escapeCharacter(character) {
  const point = character.codePointAt(0);
  if (SHORT[point]) return SHORT[point];
  const hex = point.toString(16);
  if (point < 0x100) return `\\x${hex.padStart(2, "0")}`;
  return point < 0x10000 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}

function escapeText(text) {
  return String(text).replace(NOT_GRAPHIC, escapeCharacter);
}

// Returns the nodes for `text`. An escape is an element of its own, so that a line end looks different from a
// backslash and an `n` that were sent as two characters.
function escapeNodes(text) {
  const nodes = [];
  let from = 0;
  for (const match of text.matchAll(NOT_GRAPHIC)) {
    if (match.index > from) nodes.push(text.slice(from, match.index));
    nodes.push(el("span", { class: "esc" }, escapeCharacter(match[0])));
    if (match[0] === "\n") nodes.push(document.createElement("wbr"), "\n");
    from = match.index + match[0].length;
  }
  if (from < text.length) nodes.push(text.slice(from));
  return nodes;
}

// Returns the nodes for a headline, in which names and values are between backticks.
function markCode(text) {
  const parts = text.split("`");
  if (parts.length % 2 === 0) return escapeNodes(text);
  return parts.map((part, n) => (n % 2 ? el("code", {}, escapeNodes(part)) : escapeNodes(part)));
}

// Returns a box for long text, which the keyboard can scroll.
function makeBox(label, ...children) {
  return el("pre", { class: "box", tabindex: "0", role: "region", "aria-label": label }, children);
}

const TEXT_SHOWN = 2400;

// Returns the beginning of a long text with a button that shows the rest.
function expandable(text, draw = escapeNodes, shown = TEXT_SHOWN) {
  if (text.length <= shown * 1.2) return draw(text);
  const rest = el("button", { type: "button", class: "more" }, `show all ${formatNumber(text.length)} characters`);
  const box = el("span", {}, draw(text.slice(0, shown)), "… ", rest);
  rest.addEventListener("click", () => box.replaceChildren(...draw(text)));
  return [box];
}

const numberFormat = new Intl.NumberFormat("en"); // shared: making one takes longer than using it

function formatNumber(value) {
  return value < 1000 ? String(value) : numberFormat.format(value);
}

function formatCount(count, noun) {
  const plural = /[tr]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return `${formatNumber(count)} ${count === 1 ? noun : plural}`;
}

// Announces the message to screen readers.
function announce(message) {
  document.getElementById("status").textContent = message;
}

async function copyToClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Browsers offer `navigator.clipboard` only to pages from a secure origin.
    const area = el("textarea", { readonly: true, class: "off", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

// The accessible name begins with the label, so that people who speak commands can say what they see.
function copyButton(text, what, label = "Copy") {
  const button = el("button", { type: "button", class: "copy", "aria-label": `${label} ${what}` }, label);
  button.addEventListener("click", async () => {
    await copyToClipboard(typeof text === "function" ? text() : text);
    button.textContent = "Copied";
    announce(`${label.replace("Copy", "Copied")} ${what}`);
    setTimeout(() => {
      button.textContent = label;
    }, 1500);
  });
  return button;
}

// Returns a link if the address is http or https; anything else, such as `javascript:`, stays text.
function link(address, text) {
  if (!/^https?:\/\/[^\s]+$/i.test(address)) return el("span", {}, escapeNodes(text));
  return el("a", { href: address, rel: "noreferrer noopener", target: "_blank" }, escapeNodes(text));
}

function bugLink(id) {
  const issue = /^([\w.-]+\/[\w.-]+)#(\d+)$/.exec(id);
  return issue ? link(`https://github.com/${issue[1]}/issues/${issue[2]}`, id) : link(id, id);
}

function decodeBase64(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
  return bytes;
}

// `ignoreBOM` keeps a byte order mark in the text; one delivery adds it to the stream.
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
