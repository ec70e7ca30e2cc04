"""Find calls or items in a request that share an id: a provider cannot match results to such calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from streamconform.apis.api import Path

_MAX_IDS: Final = 3
"""The maximum number of ids to list in a message."""


def find_repeated_ids(paths: Iterable[Path], body: Mapping[str, Any]) -> str | None:
    """Return a message about calls or items that share an id, or None; see `RequestForm.call_ids`."""
    ids = Counter(
        id_ for path in paths for id_ in _collect_values(path, body) if isinstance(id_, str) and id_
    )
    repeated = [id_ for id_, count in ids.items() if count > 1]
    return f"several calls or items have the id `{'`, `'.join(repeated[:_MAX_IDS])}`" if repeated else None


def _collect_values(path: Path, value: Any) -> list[Any]:
    if not path:
        return [value]
    step, rest = path[0], path[1:]
    if step == "*":
        return (
            [found for item in value for found in _collect_values(rest, item)]
            if isinstance(value, list)
            else []
        )
    if not isinstance(value, Mapping):
        return []
    if value.get("type") == step:
        return _collect_values(rest, value)
    return _collect_values(rest, value[step]) if step in value else []
