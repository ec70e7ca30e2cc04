"""Where a page is and what it shows besides results: the suite, and how peers are used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from streamconform.model.case import AnyCase
from streamconform.peers.table import PEERS
from streamconform.reports.matrix import Place
from streamconform.suite.load import Sources


def placed(sources: Sources, suite: Sequence[AnyCase]) -> Callable[[str], Place]:
    """Return what makes the place of a page at a path; one on stdout is in the current folder.

    A page has links to specs where it lies in the folder that holds the folder of specs, or deeper.
    """
    home = sources.specs.resolve().parent
    cases = {case.id: case for case in suite}
    through = {f"peer:{peer.name}": peer.through for peer in PEERS.values()}

    def place(path: str) -> Place:
        folder = Path.cwd() if path == "-" else Path(path).resolve().parent
        return Place(cases, str(folder), str(home), through)

    return place
