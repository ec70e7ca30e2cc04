"""Read the peers' known failures (`<library>/known/<peer>.yaml`), grouped by the finding they name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from streamconform.known_failures.file import parse_document
from streamconform.known_failures.model import Entry
from streamconform.yaml_text import reader
from streamconform_peers.findings import get_slug
from streamconform_peers.table import PEERS


@cache
def read_by_finding(peer: str) -> Mapping[str, tuple[Entry, ...]]:
    """Return `peer`'s known failures by their finding's slug, in file order.

    Raises `SourceError`.
    """
    path = PEERS[peer].known_failures
    entries: dict[str, list[Entry]] = {}
    if path.exists():
        for entry in parse_document(reader.read(path)).entries:
            slug = get_slug(entry.issue)
            if slug:
                entries.setdefault(slug, []).append(entry)
    return {slug: tuple(of_finding) for slug, of_finding in entries.items()}


def list_patterns(entries: Sequence[Entry], cases: Sequence[str]) -> tuple[str, ...]:
    """Return patterns for trials that show a finding: those of its entries, or the finding's own `cases`.

    Every case of a finding shows it with some peer, but not with all, so the cases are the last resort.
    """
    return tuple(entry.pattern for entry in entries if entry.pattern is not None) or tuple(cases)
