"""Findings: bugs in released libraries, each in its own file, `<library>/findings/<slug>.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from streamconform.schemas import read_checked
from streamconform_peers.peer import PACKAGE, Peer

PAGE: Final = "findings.md"
"""The page with all findings; known failures refer to a finding as `findings.md#<slug>`."""


NODE_SUFFIX: Final = " (Node.js)"
"""Marks an npm library in findings that also name a Python library with the same name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A library that has the bug."""

    name: str
    release: str
    """The release with which the bug was reproduced."""
    since: str | None = None
    """The first release with the bug; `first` if every release has it, None if unknown."""
    fixed: str | None = None
    """The first later release without the bug; None if there is none or if it is unknown."""

    @property
    def package(self) -> str:
        """Return the package's name without the suffix that distinguishes packages with the same name."""
        return self.name.removesuffix(NODE_SUFFIX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A bug, with all the information for an issue in the library's tracker."""

    slug: str
    title: str
    libraries: tuple[Library, ...]
    input: Literal["legal", "lenient"]
    """Whether the provider itself sends such streams, or only lenient servers do."""
    cases: tuple[str, ...]
    documented: str
    does: str
    stream: str | None = None
    note: str | None = None
    threads: tuple[str, ...] = ()
    timed: bool = False
    """Whether the bug is a delay; if it is, the finding's program prints times."""

    def find_package(self, peer: Peer, versions: Mapping[str, str]) -> str | None:
        """Return the package of `peer` that has the bug, given the pinned `versions` of its packages.

        None if the bug is not in any of them, but in a library that they use.
        """
        on_node = peer.language == "javascript"
        # The suffix distinguishes an npm library from a Python library with the same name if a finding names
        # both.
        marked = [library for library in self.libraries if library.name.endswith(NODE_SUFFIX) == on_node]
        for library in (*marked, *self.libraries):
            package = peer.distribution if library.package == peer.name else library.package
            namesakes = [other for other in marked if other.package == library.package]
            if package in versions and (library in marked or not namesakes):
                return package
        return None


def read_findings() -> dict[str, Finding]:
    """Return the findings about all libraries, sorted and keyed by slug. Raises `SourceError`."""
    paths = sorted(PACKAGE.glob("*/findings/*.yaml"), key=lambda path: path.stem)
    return {path.stem: read_finding(path) for path in paths}


def read_finding(path: Path) -> Finding:
    """Return the finding in a file. Raises `SourceError` with the lines that are wrong."""
    document = read_checked(path, "finding.v1")
    fields: dict[str, Any] = {name: value for name, value in document.value.items() if name != "finding"}
    fields["libraries"] = tuple(Library(**each) for each in fields["libraries"])
    fields |= {name: tuple(fields.get(name, ())) for name in ("cases", "threads")}
    return Finding(slug=path.stem, **fields)


def get_slug(issue: str) -> str | None:
    """Return the slug of the finding that a known failure's `issue` names; None if it names none."""
    page, _, slug = issue.partition("#")
    return slug if page == PAGE and slug else None
