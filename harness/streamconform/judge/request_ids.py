"""The ids of the calls that a request sends back: no provider can tell results of equal ids apart. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from streamconform.apis.api import Path

NAMED_MAX: Final = 3
"""Ids that one message names."""


def repeated(places: Iterable[Path], body: Mapping[str, Any]) -> str | None:
    """Return in words which calls of a body share one id, or None; `places` are `RequestForm.call_ids`."""
    ids = Counter(id_ for path in places for id_ in _found(path, body) if isinstance(id_, str) and id_)
    twice = [id_ for id_, times in ids.items() if times > 1]
    return f"several calls have the id `{'`, `'.join(twice[:NAMED_MAX])}`" if twice else None


def _found(path: Path, value: Any) -> list[Any]:
    if not path:
        return [value]
    step, rest = path[0], path[1:]
    if step == "*":
        return [each for item in value for each in _found(rest, item)] if isinstance(value, list) else []
    if not isinstance(value, Mapping):
        return []
    if value.get("type") == step:
        return _found(rest, value)
    return _found(rest, value[step]) if step in value else []
