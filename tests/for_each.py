"""A claim about each of many values, as one test.

A test for each value takes more time than most such claims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from _pytest.mark import ParameterSet

MAX_LABEL = 200
Ids = Iterable[Any] | Callable[[Any], Any] | None


def for_each(names: str | Sequence[str], values: Iterable[Any], ids: Ids = None) -> Callable[..., Any]:
    """Call the decorated test with each of the `values`, like `pytest.mark.parametrize`.

    It fails with the failures of all values, each with its id or value as a note. There must be a value.
    """
    words = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = [_read_row(value, len(words)) for value in values]
    assert rows, "a claim about nothing"
    labels = [*map(str, ids)] if isinstance(ids, Iterable) else [_label(row, ids) for row in rows]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def test_each(**outer: Any) -> None:
            failures = []
            for row, label in zip(rows, labels, strict=True):
                try:
                    test(**outer, **dict(zip(words, row, strict=True)))
                except (Exception, BaseExceptionGroup, pytest.fail.Exception) as failure:  # noqa: BLE001 - all are raised
                    failure.add_note(f"for {label}")
                    failures.append(failure)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(rows)} values", failures)

        test_each.__name__, test_each.__doc__, test_each.__module__ = (
            test.__name__,
            test.__doc__,
            test.__module__,
        )
        return test_each

    return decorate


def _read_row(value: Any, width: int) -> tuple[Any, ...]:
    if isinstance(value, ParameterSet):
        return value.values
    return (value,) if width == 1 else tuple(value)


def _label(row: tuple[Any, ...], ids: Callable[[Any], Any] | None) -> str:
    shown = [(ids(value) if ids else None) or repr(value) for value in row]
    return ", ".join(map(str, shown))[:MAX_LABEL]
