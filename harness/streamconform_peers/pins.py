"""Read the pins for Python peers: the release of each distribution, and its file digests."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from streamconform_peers.peer import Peer

FOLDER: Final = Path(__file__).parent / "pins"
HASHES: Final = FOLDER / "hashes.txt"
"""One line per release, which several peers may pin: `name==version`, then its file digests."""


def get_pins(peer: Peer) -> Path:
    """Return the file that pins every distribution installed with `peer`."""
    return FOLDER / f"{peer.key}.txt"


def read_pins(peer: Peer) -> list[str]:
    """Return `name==version` for every distribution that may be installed with `peer`."""
    return get_pins(peer).read_text("utf-8").splitlines()


def read_hashes() -> dict[str, tuple[str, ...]]:
    """Return the digests of each pinned release."""
    lines = [line.split() for line in HASHES.read_text("utf-8").splitlines() if not line.startswith("#")]
    return {pin: tuple(digests) for pin, *digests in lines}


def format_constraints(peer: Peer) -> str:
    """Return `peer`'s pins with their digests, in pip's format."""
    hashes = read_hashes()
    return "".join(
        " ".join([pin, *(f"--hash={digest}" for digest in hashes.get(pin, ()))]) + "\n"
        for pin in read_pins(peer)
    )
