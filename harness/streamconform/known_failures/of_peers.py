"""Read the peers' known failures (`docs/matrix/known/<peer>.yaml`), grouped by the finding they name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from streamconform.known_failures.file import parse_document
from streamconform.known_failures.model import KnownFailure
from streamconform.peers.findings import get_slug
from streamconform.resources import find_bundled
from streamconform.yaml_text import reader


@cache
def read_by_finding(peer: str) -> Mapping[str, tuple[KnownFailure, ...]]:
    """Return `peer`'s known failures by their finding's slug, in file order.

    Raises `SourceError`.
    """
    path = find_bundled("known") / f"{peer}.yaml"
    entries: dict[str, list[KnownFailure]] = {}
    if path.exists():
        for entry in parse_document(reader.read(path)).entries:
            slug = get_slug(entry.issue)
            if slug:
                entries.setdefault(slug, []).append(entry)
    return {slug: tuple(of_finding) for slug, of_finding in entries.items()}
