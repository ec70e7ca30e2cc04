"""Find the names in the providers' SDKs that neither a case nor the table of reasons has."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from streamconform.yaml_text import reader
from streamconform_dev.names.read import Names

FOLDER: Final = Path(__file__).parent / "sdk"
"""A file per API: the SDK's release, and its names with their paths."""
REASONS: Final = Path(__file__).with_name("reasons.yaml")


@dataclass(frozen=True, slots=True)
class Reason:
    """Why no case contains some names of an API."""

    names: tuple[str, ...]
    within: tuple[str, ...]
    below: tuple[str, ...]
    text: str
    line: int

    @property
    def selectors(self) -> tuple[tuple[str, str], ...]:
        """Return each selector with its kind."""
        groups = {"names": self.names, "within": self.within}
        return tuple((kind, item) for kind, items in groups.items() for item in items)

    def selects(self, name: str, places: frozenset[str]) -> bool:
        """Return whether this reason is about `name`, which occurs at these paths."""
        return self.is_below(places) or any(is_selected(name, *selector) for selector in self.selectors)

    def is_below(self, places: frozenset[str]) -> bool:
        """Return whether all paths begin with one of the fields in `below`."""
        return bool(self.below) and all(
            any(place == start or place.startswith(f"{start}.") for start in self.below) for place in places
        )


@dataclass(frozen=True, slots=True)
class NamesReport:
    """The names of one API."""

    api: str
    sdk: str
    total: int
    cased: int
    reasoned: tuple[str, ...]
    missing: tuple[str, ...]
    """The names without a case and without a reason."""
    needless: tuple[str, ...]
    """The selectors that select no name without a case, each with its line."""


def is_selected(name: str, kind: str, selector: str) -> bool:
    """Return whether a selector of a reason selects `name`."""
    field = name.partition(" = ")[0]
    owner = get_owner(name)
    if kind == "within":
        return owner == selector
    if selector.startswith("<"):
        return name == selector or owner == selector[1:-1]
    if selector.startswith("event "):
        return name == selector or owner == selector.removeprefix("event ")
    return selector in (name, field)


def get_owner(name: str) -> str | None:
    """Return the type, field or event that has a field; None for a type or an event."""
    if name.startswith(("<", "event ")):
        return None
    return name.partition(" = ")[0].rpartition(".")[0]


def read_sdk(api: str) -> tuple[str, Names]:
    """Return the release of an API's SDK, and the names in its types."""
    document = json.loads((FOLDER / f"{api}.json").read_text("utf-8"))
    return document["sdk"], {name: frozenset(places) for name, places in document["names"].items()}


def list_apis() -> tuple[str, ...]:
    """Return the APIs whose SDKs are listed."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.json")))


def read_reasons() -> Mapping[str, tuple[Reason, ...]]:
    """Return the table of reasons, by API."""
    document = reader.read(REASONS)
    return {
        api: tuple(
            _make_reason(entry, document.line((api, number)) or 0) for number, entry in enumerate(entries)
        )
        for api, entries in document.value.items()
    }


def _make_reason(entry: Mapping[str, Any], line: int) -> Reason:
    lists = {key: tuple(entry.get(key, ())) for key in ("names", "within", "below")}
    return Reason(**lists, text=entry["why"], line=line)


def check_names(
    api: str, sdk: str, names: Names, cased: frozenset[str], reasons: Sequence[Reason]
) -> NamesReport:
    """Return what covers the names of an API; `cased` are those that a case contains."""
    uncased = {name: places for name, places in names.items() if name not in cased}
    chosen = {
        name: next((reason for reason in reasons if reason.selects(name, places)), None)
        for name, places in sorted(uncased.items())
    }
    return NamesReport(
        api=api,
        sdk=sdk,
        total=len(names),
        cased=len(names) - len(uncased),
        reasoned=tuple(name for name, reason in chosen.items() if reason),
        missing=tuple(name for name, reason in chosen.items() if reason is None),
        needless=tuple(_find_needless(uncased, reasons)),
    )


def _find_needless(uncased: Names, reasons: Sequence[Reason]) -> Iterator[str]:
    for reason in reasons:
        for kind, item in reason.selectors:
            if not any(is_selected(name, kind, item) for name in uncased):
                yield f"{REASONS.name}:{reason.line}: {kind}: {item}"
        if reason.below and not any(map(reason.is_below, uncased.values())):
            yield f"{REASONS.name}:{reason.line}: below"
