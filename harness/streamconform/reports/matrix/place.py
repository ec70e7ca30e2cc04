"""What the page is made with besides the results: the suite, and where the page is, for its links. Pure."""

from __future__ import annotations

import os.path
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from streamconform.model.case import AnyCase
from streamconform.reports.markdown import code

WEB: Final = re.compile(r"https://[A-Za-z0-9.-]+(?:/[A-Za-z0-9._~/#?=&%+-]*)?")
"""An address that can do nothing in Markdown but be one."""
THREAD: Final = re.compile(r"([A-Za-z0-9-]+/[A-Za-z0-9._-]+)#([0-9]{1,9})")
BESIDE: Final = re.compile(r"(?:[A-Za-z0-9_-]+/)*[A-Za-z0-9_-]+\.md(?:#[A-Za-z0-9_-]+)?")
"""A page beside this one, or a place in it: `findings.md#a-finding`."""


@dataclass(frozen=True, slots=True)
class Place:
    """The suite that the results are of, and the folder of the page."""

    suite: Mapping[str, AnyCase]
    """By case id."""
    folder: str
    """Absolute."""
    home: str
    """The folder that the specs are below, absolute: what is not below it too has no links to them."""
    through: Mapping[str, str] = field(default_factory=dict)
    """How an implementation is used, in Markdown of our own, by what was given to `--impl`."""

    def case(self, id_: str, width: int = 120) -> str:
        """Return the case as a link to its spec, named by its title; its id where it is unknown."""
        case = self.suite.get(id_)
        if case is None:
            return code(id_, 200)
        where = self._path(case)
        shown = code(case.title, width)
        return f"[{shown}]({where}#L{case.line})" if where else shown

    def _path(self, case: AnyCase) -> str | None:
        path = os.path.abspath(case.path)  # noqa: PTH100 - a link stays one, and nothing is asked of the disk
        if any(os.path.commonpath((self.home, each)) != self.home for each in (path, self.folder)):
            return None
        relative = os.path.relpath(path, self.folder).replace(os.sep, "/")
        return relative if re.fullmatch(r"[A-Za-z0-9._/-]+", relative) else None


def slug(text: str) -> str:
    """Return `text` as a part of the name of an anchor."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60]


def tracked(issue: str) -> str:
    """Return an `issue` of a known failure as a link, where it is surely a harmless one; else as text."""
    if BESIDE.fullmatch(issue) or WEB.fullmatch(issue):
        name = issue.partition("#")[2].replace("-", " ") or issue.removeprefix("https://")
        return f"[{code(name, 80)}]({issue})"
    thread = THREAD.fullmatch(issue)
    if thread:
        return f"[{code(issue, 80)}](https://github.com/{thread[1]}/issues/{thread[2]})"
    return code(issue, 80)
