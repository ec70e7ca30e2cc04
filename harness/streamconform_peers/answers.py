"""What is known about a finding in a library: reports, the maintainers' answer, and the fix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from streamconform_peers.findings import Finding, Library
from streamconform_peers.history import find_history
from streamconform_peers.releases import list_packages
from streamconform_peers.table import PEERS

Status = Literal["reported", "confirmed", "disputed", "fixed", "open"]
STATUSES: Final[Mapping[Status, str]] = {
    "disputed": "the maintainers say that this is intended",
    "confirmed": "confirmed by the maintainers",
    "fixed": "fixed in a later release",
    "reported": "reported to the maintainers",
    "open": "not reported to the maintainers, as far as we know",
}


def find_status(finding: Finding, library: Library) -> Status:
    """Return what is known; only what the maintainers say is written in the finding's file."""
    if library.status is not None:
        return library.status
    history = find_history(finding.slug, library)
    if history is not None and history[0].fixed:
        return "fixed"
    return "reported" if list_own_threads(finding, library) else "open"


def list_own_threads(finding: Finding, library: Library) -> tuple[str, ...]:
    """Return the finding's threads in the repositories of the library's maintainers."""
    tracker = find_tracker(library)
    owner = None if tracker is None else get_owner(tracker)
    return tuple(thread for thread in finding.threads if owner is not None and get_owner(thread) == owner)


def find_tracker(library: Library) -> str | None:
    """Return the issue tracker of a library that a peer uses; that of the peer, for a companion."""
    peers = sorted(PEERS.values(), key=lambda peer: (peer.language == "javascript") != library.on_node)
    own = (peer for peer in peers if library.package in (peer.distribution, peer.name))
    users = (peer for peer in peers if library.package in list_packages(peer))
    return next((peer.issues for peer in (*own, *users)), None)


def get_owner(address: str) -> str | None:
    """Return the owner of the repository of an address on GitHub, in lower case; None for another address."""
    host, _, path = address.removeprefix("https://").partition("/")
    return path.partition("/")[0].lower() if host == "github.com" else None
