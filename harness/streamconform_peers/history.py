"""The history of peers' findings, one file per peer: `<library>/history/<peer>.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from streamconform.schemas import read_checked
from streamconform.yaml_text import writer
from streamconform_peers.findings import Library
from streamconform_peers.peer import Peer
from streamconform_peers.table import PEERS

State = Literal["present", "absent", "unclear"]
HEADING: Final = (
    "# The releases that introduced and fixed each finding; written by `conform dev history {}`.\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingHistory:
    """The releases of one library that have a finding's bug."""

    finding: str
    """The finding's slug."""
    package: str
    """The library whose releases were tested."""
    trial: str
    """The trial that was run with each release."""
    oldest: str
    """The oldest release known to have the bug."""
    without: str | None = None
    """The last tested release before `oldest` that does not have the bug, if there is one."""
    fixed: str | None = None
    """The first tested release in which the bug is fixed, if there is one."""
    newest: State | None = None
    """Whether the newest release on the index has the bug; None if that was not tested."""
    adjacent: bool = True
    """Whether the releases at each boundary are neighbors on the index."""
    steady: bool = True
    """Whether the tested releases show that the bug was introduced once and fixed at most once."""
    releases: Mapping[str, State] = field(default_factory=dict)
    """The tested releases, in version order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerHistory:
    """The histories of a peer's findings, and the newest release of each library involved."""

    peer: str
    newest: Mapping[str, str]
    findings: tuple[FindingHistory, ...]


def read_history_of(peer: Peer) -> PeerHistory | None:
    """Return the history of `peer`, or None if it has none. Raises `SourceError`."""
    return read_history(peer.history) if peer.history.exists() else None


def find_history(slug: str, library: Library) -> tuple[FindingHistory, str] | None:
    """Return the history of a finding in a library, and the library's newest release; None if not tested."""
    for peer in sorted(PEERS.values(), key=lambda peer: (peer.language == "javascript") != library.on_node):
        history = _read_history_of(peer.name)
        package = peer.distribution if library.package == peer.name else library.package
        if history is not None:
            for entry in history.findings:
                if (entry.finding, entry.package) == (slug, package):
                    return entry, history.newest[package]
    return None


@cache
def _read_history_of(name: str) -> PeerHistory | None:
    return read_history_of(PEERS[name])


def read_history(path: Path) -> PeerHistory:
    """Return the history in a file. Raises `SourceError`, which lists the invalid lines."""
    document = read_checked(path, "history.v1")
    value = document.value
    findings = tuple(FindingHistory(**entry) for entry in value["findings"])
    return PeerHistory(peer=value["peer"], newest=value["newest"], findings=findings)


def format_history(history: PeerHistory) -> str:
    """Return the text of a history's file."""
    document = {
        "history": 1,
        "peer": history.peer,
        "newest": writer.FlowMap(sorted(history.newest.items())),
        "findings": [_to_entry(entry) for entry in sorted(history.findings, key=lambda each: each.finding)],
    }
    return HEADING.format(history.peer) + writer.dump(document, history.peer)


def describe(entry: FindingHistory, newest: str) -> str:
    """Return the end of a sentence that says which of the tested releases have a bug."""
    tested = [release for release, state in entry.releases.items() if state != "unclear"]
    having = [release for release in tested if entry.releases[release] == "present"] or [entry.oldest]
    first, last = having[0], having[-1]
    if entry.without is not None:
        parts = [f"since {entry.oldest}"]
        parts += [] if entry.adjacent else [f"or a release after {entry.without}"]
    elif not entry.steady:
        parts = [
            f"present in {len(having)} of the {len(tested)} releases tested ({tested[0]} to {tested[-1]})"
        ]
    elif len(having) == 1:
        parts = [f"present in {first}"]
    else:
        parts = [
            f"present in every release tested{' before the fix' if entry.fixed else ''} ({first} to {last})"
        ]
    if entry.fixed:
        parts.append(f"fixed in {entry.fixed}" + ("" if entry.adjacent else " or a release before it"))
    elif last == newest:
        parts.append("the newest release")
    else:
        was_tried = entry.newest == "unclear"
        parts.append(f"the newest release, {newest}, {'could not be' if was_tried else 'was not'} tested")
    return ", ".join(parts)


def _to_entry(entry: FindingHistory) -> dict[str, Any]:
    values = {
        name: getattr(entry, name) for name in FindingHistory.__dataclass_fields__ if name != "releases"
    }
    defaults = {"without": None, "fixed": None, "newest": None, "adjacent": True, "steady": True}
    kept = {name: value for name, value in values.items() if value != defaults.get(name, ...)}
    return {**kept, "releases": writer.FlowMap(entry.releases)}
