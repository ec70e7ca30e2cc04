// Progressive enhancement only: every page reads and works without it, except the search.
const root = document.currentScript.dataset.root;

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    (document.getElementById("query") ?? document.getElementById("find")).focus();
  }
});

const query = document.getElementById("query");
if (query) startSearch();

function startSearch() {
  query.value = new URLSearchParams(location.search).get("q") ?? "";
  const index = document.createElement("script");
  index.src = `${root}search.js`;
  index.addEventListener("load", () => {
    query.addEventListener("input", showResults);
    showResults();
  });
  document.head.append(index);
  query.focus();
}

// Every word has to occur, in the title or the text; titles count more, and whole words more than parts.
function findEntries(words) {
  const scored = [];
  for (const [kind, path, title, text] of window.conformIndex) {
    const [head, body] = [title.toLowerCase(), text.toLowerCase()];
    let score = kind === "case" ? 0 : 2;
    for (const word of words) {
      if (!head.includes(word) && !body.includes(word)) score = -Infinity;
      score +=
        (head.includes(word) ? 8 : 0) + (head.split(/\W+/).includes(word) ? 8 : 0) + (body.includes(word) ? 1 : 0);
    }
    if (score > 0) scored.push([score, kind, path, title, text]);
  }
  return scored.sort((a, b) => b[0] - a[0] || a[3].length - b[3].length);
}

function showResults() {
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = words.length ? findEntries(words) : [];
  const status = document.getElementById("status");
  status.textContent = words.length ? `${found.length} ${found.length === 1 ? "result" : "results"}` : "";
  document.getElementById("all").hidden = words.length > 0;
  document.getElementById("results").replaceChildren(
    ...found.slice(0, 40).map(([, kind, path, title, text]) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = root + path;
      link.textContent = title;
      const note = document.createElement("p");
      const at = Math.max(0, text.toLowerCase().indexOf(words[0]) - 60);
      note.textContent = `${kind}: ${at ? "…" : ""}${text.slice(at, at + 160)}`;
      item.append(link, note);
      return item;
    }),
  );
}
