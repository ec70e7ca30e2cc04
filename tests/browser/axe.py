"""Run axe on a page: all rules in the light theme, and contrast again in the dark theme."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe

OPEN = "document.querySelectorAll('details').forEach((box) => { box.open = true; })"
KEPT = 2
"""The number of elements of a kind to keep: odd and even rows differ, and some rules compare adjacent
elements.
"""
THIN = """kept => {
  const label = (element) => {
    const names = [...element.attributes].map((attribute) => attribute.name);
    return [element.tagName, element.getAttribute('class'), ...names].join(' ');
  };
  const shapes = new Map();
  const shape = (element) => {
    const inside = [...new Set([...element.children].map(shape))].join();
    const text = element.innerText?.trim() ? 'text' : '';
    shapes.set(element, `${label(element)} ${text}(${inside})`);
    return shapes.get(element);
  };
  const counts = new Map();
  const thin = (element, path) => {
    const beside = new Set();
    for (const child of [...element.children]) {
      const key = `${path}/${shapes.get(child)}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
      if (counts.get(key) > kept && beside.has(key)) child.remove();
      else thin(child, `${path}/${label(child)}`);
      beside.add(key);
    }
  };
  shape(document.body);
  thin(document.body, '');
}"""
"""Remove surplus elements of the same kind, because axe takes time quadratic in the number of elements.

Elements are of one kind if their tags, classes, names of attributes and kinds of children are the same, and
so are the tags, classes and names of attributes of their ancestors. No element loses all children of a kind.
"""
LIGHT = {
    "preload": False,
    "resultTypes": ["violations"],
    "rules": {"label-content-name-mismatch": {"enabled": True}},  # experimental, so off by default
}
"""Without `preload: false`, axe reads style sheets again, which a browser refuses for files."""
DARK = {**LIGHT, "runOnly": ["color-contrast"]}
RUN = "options => axe.run(options).then((results) => results.violations)"


def list_violations(page) -> list[tuple[str, str]]:
    """Return each broken rule with the first element that breaks it; removes repeated elements first."""
    page.evaluate(OPEN)
    page.evaluate(THIN, KEPT)
    page.emulate_media(color_scheme="light")
    page.evaluate(Axe().axe_script)
    found = page.evaluate(RUN, LIGHT)
    page.emulate_media(color_scheme="dark")
    found += page.evaluate(RUN, DARK)
    return [(each["id"], each["nodes"][0]["html"]) for each in found]
