"""Generate the table of peers in docs/peers.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from streamconform_dev.checkout import ROOT
from streamconform_peers.peer import Peer
from streamconform_peers.table import PEERS

PAGE = ROOT / "docs" / "peers.md"
TABLE = re.compile(r"\| peer \| library .*?\n\n", re.DOTALL)


def generate() -> dict[Path, bytes]:
    """Return the page."""
    table = "".join(f"{row}\n" for row in _rows()) + "\n"
    return {PAGE: TABLE.sub(lambda _: table, PAGE.read_text("utf-8"), count=1).encode()}


def _rows() -> Iterator[str]:
    yield "| peer | library | through |"
    yield "|---|---|---|"
    for peer in PEERS.values():
        yield f"| `{peer.name}` | {_describe_library(peer)} | {_describe_use(peer)} |"


def _describe_library(peer: Peer) -> str:
    names = [re.sub(r"(?<!^)@.*", "", name) for name in peer.companions]
    return f"{peer.distribution}, with {', '.join(names)}" if names else peer.distribution


def _describe_use(peer: Peer) -> str:
    return f"{peer.through}; judged on what `{peer.vendor}` sends" if peer.vendor else peer.through
