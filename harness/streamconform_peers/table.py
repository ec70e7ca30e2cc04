"""The table of all peers, read from the file `peer.yaml` in the folder of each library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from streamconform.schemas import read_checked
from streamconform_peers.peer import PACKAGE, Peer

__all__ = ["PEERS", "Peer"]

FILE: Final = "peer.yaml"


def read_library(path: Path) -> Iterator[Peer]:
    """Yield the peers in a library's file. Raises `SourceError`, which lists the invalid lines."""
    document = read_checked(path, "peer.v1")
    library = {name: value for name, value in document.value.items() if name not in ("peer", "peers")}
    for peer in document.value["peers"]:
        yield Peer(library=path.parent.name, **_freeze({**library, **peer}))


def _freeze(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with tuples in place of lists."""
    claims = {api: tuple(names) for api, names in fields.get("claims_by_api", {}).items()}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()} | {
        "claims_by_api": claims
    }


def _read_all() -> Iterator[Peer]:
    peers = [peer for path in sorted(PACKAGE.glob(f"*/{FILE}")) for peer in read_library(path)]
    yield from sorted(peers, key=lambda peer: peer.language, reverse=True)  # Python first


PEERS: Final[Mapping[str, Peer]] = {peer.name: peer for peer in _read_all()}
"""All peers by name: those in Python, then those in JavaScript, in the order of the folders."""
