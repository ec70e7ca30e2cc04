"""The matrix page's input besides the results: the suite, and the page's location for links. Pure."""

from __future__ import annotations

import os.path
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from streamconform.model.case import AnyCase
from streamconform.reports.markdown import format_code

SAFE_URL: Final = re.compile(r"https://[A-Za-z0-9.-]+(?:/[A-Za-z0-9._~/#?=&%+-]*)?")
"""A URL without characters that could end a Markdown link."""
GITHUB_ISSUE: Final = re.compile(r"([A-Za-z0-9-]+/[A-Za-z0-9._-]+)#([0-9]{1,9})")
LOCAL_PAGE: Final = re.compile(r"(?:[A-Za-z0-9_-]+/)*[A-Za-z0-9_-]+\.md(?:#[A-Za-z0-9_-]+)?")
"""A page in the same folder or below, with or without an anchor: `findings.md#a-finding`."""


@dataclass(frozen=True, slots=True)
class PageContext:
    """The suite that was run, and where the page is."""

    suite: Mapping[str, AnyCase]
    """Cases by id."""
    folder: str
    """Absolute path of the page's folder."""
    root: str
    """Absolute path of the folder above the specs; a page outside it gets no links to them."""
    access: Mapping[str, str] = field(default_factory=dict)
    """A description of how each bundled peer uses its library, as trusted Markdown, by `--impl` value."""

    def link_case(self, id_: str, width: int = 120) -> str:
        """Return the case's title as a link to its spec, or the id if the suite does not have the case."""
        case = self.suite.get(id_)
        if case is None:
            return format_code(id_, 200)
        path = self._relative_path(case)
        title = format_code(case.title, width)
        return f"[{title}]({path}#L{case.line})" if path else title

    def _relative_path(self, case: AnyCase) -> str | None:
        """Return the case's spec as a path relative to the page, or None if a link to it would be unsafe."""
        # `abspath`, not `resolve`: it keeps symbolic links and does not read the file system.
        path = os.path.abspath(case.path)  # noqa: PTH100
        if any(os.path.commonpath((self.root, other)) != self.root for other in (path, self.folder)):
            return None
        relative = os.path.relpath(path, self.folder).replace(os.sep, "/")
        return relative if re.fullmatch(r"[A-Za-z0-9._/-]+", relative) else None


def make_slug(text: str) -> str:
    """Return `text` in lowercase with hyphens, for use in an anchor's name."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60]


def link_issue(issue: str) -> str:
    """Return a known failure's `issue` as a link if its form is known to be safe, otherwise as code."""
    if LOCAL_PAGE.fullmatch(issue) or SAFE_URL.fullmatch(issue):
        name = issue.partition("#")[2].replace("-", " ") or issue.removeprefix("https://")
        return f"[{format_code(name, 80)}]({issue})"
    github_issue = GITHUB_ISSUE.fullmatch(issue)
    if github_issue:
        repository, number = github_issue.groups()
        return f"[{format_code(issue, 80)}](https://github.com/{repository}/issues/{number})"
    return format_code(issue, 80)
