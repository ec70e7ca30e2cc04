"""Where a page is and what it shows besides results: the suite, and how peers are used."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

from streamconform.peers.table import PEERS
from streamconform.suite.catalog import Catalog

if TYPE_CHECKING:
    from streamconform.reports.matrix import Place


def placed(catalog: Catalog, case_ids: Collection[str]) -> Callable[[str], Place]:
    """Return what makes the place of a page at a path; one on stdout is in the current folder.

    Only the cases `case_ids` are loaded, and only once a page is made.

    A page has links to specs where it lies in the folder that holds the folder of specs, or deeper.
    """
    home = catalog.sources.specs.resolve().parent
    through = {f"peer:{peer.name}": peer.through for peer in PEERS.values()}

    def place(path: str) -> Place:
        from streamconform.reports.matrix import Place

        folder = Path.cwd() if path == "-" else Path(path).resolve().parent
        ids = frozenset(case_ids).intersection(catalog.ids)
        cases = {case.id: case for case in catalog.load(ids)}
        return Place(cases, str(folder), str(home), through)

    return place
