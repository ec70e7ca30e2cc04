"""The matrix of kinds of bugs by API and path: which mutants ask each cell. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from streamconform.apis import APIS
from streamconform.suite.kinds import PATHS, Cell, Kind, Kinds
from streamconform_mutants import Mutant

MARKS: Final = {"asked": "+", "empty": "?", "excluded": "-", "absent": " "}
"""How a cell is shown; `absent` means that the kind does not occur on this path in any API."""


@dataclass(frozen=True, slots=True)
class Row:
    """A kind, and the names of the mutants in each cell where it can occur."""

    kind: Kind
    mutants: Mapping[Cell, tuple[str, ...]]

    def describe(self, cell: Cell) -> str:
        """Return a key of `MARKS`."""
        if cell in self.kind.excluded:
            return "excluded"
        if cell not in self.mutants:
            return "absent"
        return "asked" if self.mutants[cell] else "empty"


def list_mutant_cells(mutant: Mutant, kinds: Kinds) -> tuple[Cell, ...]:
    """Return the cells in which the mutant has its bug, except those that `excluded` rules out."""
    excluded = kinds.entries[mutant.kind].excluded
    cells = (Cell(api, path) for api in mutant.adapter.apis for path in mutant.paths)
    return tuple(cell for cell in cells if cell not in excluded)


def make_rows(kinds: Kinds, mutants: Iterable[Mutant]) -> tuple[Row, ...]:
    """Return a row per kind that occurs on some path. Raises KeyError for a mutant of an unknown kind."""
    by_kind: dict[str, dict[Cell, list[str]]] = {name: defaultdict(list) for name in kinds.entries}
    for mutant in mutants:
        for cell in list_mutant_cells(mutant, kinds):
            by_kind[mutant.kind][cell].append(mutant.name)
    return tuple(
        Row(kind, {cell: tuple(by_kind[kind.name][cell]) for cell in kind.cells})
        for kind in kinds.entries.values()
        if kind.paths
    )


def count_cells(rows: Iterable[Row]) -> Counter[str]:
    """Return the number of cells that are asked, excluded and empty."""
    return Counter(
        state
        for row in rows
        for api in APIS
        for path in PATHS
        if (state := row.describe(Cell(api, path))) != "absent"
    )


def iter_lines(kinds: Kinds, rows: Iterable[Row]) -> Iterator[str]:
    """Yield the matrix as text: a column per API, with a mark per path."""
    width = max(map(len, kinds.entries))
    yield f"{'':<{width + 2}}  {'  '.join(api[:3] for api in APIS)}"
    group = None
    for row in rows:
        if row.kind.group != group:
            group = row.kind.group
            yield ""
            yield kinds.groups[group]
        marks = ("".join(MARKS[row.describe(Cell(api, path))] for path in PATHS) for api in APIS)
        yield f"  {row.kind.name:<{width}}  {'  '.join(marks)}"
