"""Render the documentation with MkDocs: `docs/`, the generated reference, and the pages at the root."""

from __future__ import annotations

import logging
import posixpath
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

import jinja2
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import BasePlugin
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils.templates import TemplateContext

from streamconform_dev.checkout import ROOT
from streamconform_dev.site.reference import write_reference

HERE: Final = Path(__file__).parent
DOCS: Final = ROOT / "docs"
PROJECT_PAGES: Final[Mapping[str, tuple[str, str]]] = {
    "CHANGELOG.md": ("project/changelog.md", "Changelog"),
    "CONTRIBUTING.md": ("project/contributing.md", "Contributing"),
    "ARCHITECTURE.md": ("project/architecture.md", "Architecture"),
    "SECURITY.md": ("project/security.md", "Security"),
    "specs/POLICY.md": ("project/policy.md", "Policy"),
    "specs/NOT_COVERED.md": ("project/not-covered.md", "Not covered"),
}
"""Pages outside `docs`: path in the repository to path in the documentation, and the name in the menu."""
MATRIX_PAGES: Final[Mapping[str, str]] = {
    "README.md": "../index.html",
    "docs/matrix/README.md": "../matrix/index.html",
    "docs/matrix/findings.md": "../findings/index.html",
    "docs/matrix/findings": "../findings/index.html",
}
"""Pages that are not MkDocs' own: path in the repository to path from the folder of the documentation."""
INDEX_ENTRY: Final = re.compile(r"\[([^\]]+)\]\(([^)#]+\.md)\)")
LINK: Final = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")
FENCE: Final = re.compile(r"^ *(```|~~~)")


class ProsePlugin(BasePlugin):  # type: ignore[type-arg,no-untyped-call]
    """Adds the generated pages, and adapts links and HTML to the site."""

    def __init__(self, repository: str, context: Mapping[str, Any]) -> None:
        """Store the address of the repository, and the variables of every template."""
        super().__init__()
        self._repository = repository
        self._context = context
        self._generated = {**write_reference(), **_read_project_pages()}
        self._origins = {page: path for path, (page, _) in PROJECT_PAGES.items()}
        self.sources: dict[str, str] = {}
        """The pages that were built: URL to title."""

    def on_files(self, files: Files, /, *, config: MkDocsConfig) -> Files:
        """Add the generated pages."""
        for path, text in self._generated.items():
            files.append(File.generated(config, path, content=text))
        return files

    def on_env(self, env: jinja2.Environment, /, *, config: MkDocsConfig, files: Files) -> jinja2.Environment:
        """Escape in templates by default, as in those of the matrix."""
        del config, files
        env.autoescape = True
        env.undefined = jinja2.StrictUndefined
        return env

    def on_page_markdown(self, markdown: str, /, *, page: Page, config: MkDocsConfig, files: Files) -> str:
        """Redirect links between files of the repository to pages of the site, or to the repository."""
        del config, files
        source = page.file.src_uri
        origin = self._origins.get(source, f"docs/{source}")
        lines, fenced = [], False
        for line in markdown.split("\n"):
            fenced ^= FENCE.match(line) is not None
            lines.append(
                line
                if fenced
                else LINK.sub(lambda link: self._relocate(link[1], link[2] or "", origin, source), line)
            )
        return "\n".join(lines)

    def on_page_content(self, html: str, /, *, page: Page, config: MkDocsConfig, files: Files) -> str:
        """Make wide tables and code focusable, so that the keyboard can scroll them."""
        del config, files
        self.sources[page.url] = str(page.title)
        html = html.replace("\\|", "|")  # GitHub needs the backslash in a table, even in code
        html = html.replace("<img ", '<img loading="lazy" ')
        html = html.replace("<table>", '<div class="wide" tabindex="0"><table>')
        html = html.replace("</table>", "</table></div>")
        return re.sub(r"<pre(?=[ >])", '<pre tabindex="0"', html)

    def on_page_context(
        self, context: TemplateContext, /, *, page: Page, config: MkDocsConfig, nav: Any
    ) -> TemplateContext:
        """Add the variables that all templates of the site have."""
        del config, nav
        own = {"root": "../" * (page.url.count("/") + 1), "section": "docs"}
        return cast("TemplateContext", {**context, **self._context, **own})

    def _relocate(self, target: str, anchor: str, origin: str, source: str) -> str:
        """Return the target of a link in `origin`, a path in the repository, for the page `source`."""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target))
        if path == "docs/matrix/findings.md" and anchor:
            return posixpath.relpath(f"../findings/{anchor[1:]}.html", posixpath.dirname(source) or ".")
        if path == "README.md" and anchor:
            return f"{self._repository}/blob/main/{path}{anchor}"  # the home page has other sections
        page = MATRIX_PAGES.get(path) or self._find_page(path)
        if page is not None:
            return posixpath.relpath(page, posixpath.dirname(source) or ".") + anchor
        if self._origins.get(source) is None and path.startswith("schemas/"):
            return target + anchor
        if source in self._generated and source not in self._origins:
            return target + anchor  # it is written for the site
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"{self._repository}/{kind}/main/{path}{anchor}"

    def _find_page(self, path: str) -> str | None:
        """Return the page of a file of the repository, as a path from the folder of the documentation."""
        if path in PROJECT_PAGES:
            return PROJECT_PAGES[path][0]
        inside = path.removeprefix("docs/")
        if inside != path and ((DOCS / inside).is_file() or inside in self._generated):
            return inside
        return None


def build_prose(out: Path, repository: str, context: Mapping[str, Any]) -> dict[str, str]:
    """Build the documentation into `out`, and return the titles of its pages by URL."""
    logging.getLogger("mkdocs").setLevel(logging.WARNING)
    config = load_config(
        str(HERE / "mkdocs.yml"), docs_dir=str(DOCS), site_dir=str(out), nav=read_navigation()
    )
    plugin = ProsePlugin(repository, context)
    config.plugins["site"] = plugin
    build(config)
    return plugin.sources


def read_navigation() -> list[dict[str, list[dict[str, str]]]]:
    """Return the menu: the sections of `docs/README.md`, the reference, and the pages of the project."""
    sections: dict[str, list[dict[str, str]]] = {}
    members: list[dict[str, str]] = []
    for line in (DOCS / "README.md").read_text("utf-8").split("\n"):
        if line.startswith("## "):
            members = sections.setdefault(line.removeprefix("## "), [])
        members += [{title: path} for title, path in INDEX_ENTRY.findall(line) if path.count("..") == 0]
    for entries in sections.values():
        entries[:] = [entry for entry in entries if not set(entry.values()) & _OUTSIDE]
    reference = [
        {"Commands": "reference/commands.md"},
        {"Adapter contract": "reference/adapter.md"},
        {"Kinds of bugs": "reference/kinds.md"},
        {"JSON Schemas": "reference/schemas.md"},
    ]
    project = [{title: page} for path, (page, title) in PROJECT_PAGES.items() if (ROOT / path).is_file()]
    menu = {"Overview": [{"Documentation": "README.md"}], **sections, "Reference": reference}
    return [{title: entries} for title, entries in {**menu, "Project": project}.items()]


_OUTSIDE: Final = frozenset({"matrix/README.md", "matrix/findings.md"})


def _read_project_pages() -> dict[str, str]:
    return {
        page: (ROOT / path).read_text("utf-8")
        for path, (page, _) in PROJECT_PAGES.items()
        if (ROOT / path).is_file()
    }
