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


Sender = Literal["provider", "cut", "client", "format", "others"]
"""Where the stream that shows a finding comes from, as in `SENDERS`."""
SENDERS: Final[Mapping[Sender, str]] = {
    "provider": "The provider sends this",
    "cut": "Any connection can break like this",
    "client": "The client itself does this, whatever the provider sends",
    "format": "The format allows this, and the provider was not seen to send it",
    "others": "Only other servers and gateways send this",
}
"""Each sender in a sentence, without its period."""
UNSEEN: Final[frozenset[Sender]] = frozenset({"format", "others"})
"""The senders with which no provider was seen to send the stream."""
Answer = Literal["confirmed", "disputed"]
"""Whether the maintainers called it a bug, or intended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A library that has the bug."""

    name: str
    release: str
    """The release with which the bug was reproduced."""
    status: Answer | None = None
    """What the maintainers said in `reply`; None if nothing is known."""
    reply: str | None = None
    """The address of the maintainers' answer."""
    does: str | None = None
    """What only this library does, for a finding about several; Markdown."""

    @property
    def package(self) -> str:
        """Return the package's name without the suffix that distinguishes packages with the same name."""
        return self.name.removesuffix(NODE_SUFFIX)

    @property
    def on_node(self) -> bool:
        """Return whether the name says that it is an npm library."""
        return self.name.endswith(NODE_SUFFIX) or self.name.startswith("@")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A bug, with all the information for an issue in the library's tracker."""

    slug: str
    title: str
    libraries: tuple[Library, ...]
    sender: Sender
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
        package = _name_package(self.find_owner(peer, versions), peer)
        return package if package in versions else None

    def find_owner(self, peer: Peer, versions: Mapping[str, str]) -> Library:
        """Return the library whose bug `peer` shows: one of its packages, or one that they use."""
        on_node = peer.language == "javascript"
        # The suffix distinguishes an npm library from a Python library with the same name if a finding names
        # both.
        marked = [library for library in self.libraries if library.name.endswith(NODE_SUFFIX) == on_node]
        candidates = (*marked, *self.libraries)
        for library in candidates:
            namesakes = [other for other in marked if other.package == library.package]
            if _name_package(library, peer) in versions and (library in marked or not namesakes):
                return library
        return candidates[0]


def _name_package(library: Library, peer: Peer) -> str:
    return peer.distribution if library.package == peer.name else library.package


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
