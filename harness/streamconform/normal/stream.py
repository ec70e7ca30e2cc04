"""Read a library's stream to its end, or up to the exception that it raises."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def read_stream(stream: Iterable[Any], convert: Callable[[list[Any]], dict[str, Any]]) -> dict[str, Any]:
    """Return an adapter's result: the outcome that `convert` makes from everything that `stream` yields.

    If the stream raises, the outcome has what it yielded before, and the result has the exception.
    """
    items: list[Any] = []
    try:
        items.extend(stream)
    except Exception as error:  # noqa: BLE001 - a library can raise anything
        outcome = convert(items)
        stop = outcome["stop"] | {"reason": "error"}
        # The exception's message stands for the error.
        broken = {key: value for key, value in outcome.items() if key != "error"}
        return {"outcome": broken | {"status": "error", "stop": stop}, "raised": error}
    return convert(items)
