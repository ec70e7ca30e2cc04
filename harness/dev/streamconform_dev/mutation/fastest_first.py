"""A plugin of pytest for mutmut: the fastest tests run first, since the first failure ends a run."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests by how long they took without a mutant; no test has a time before that run."""
    from mutmut.state import state

    durations = state().duration_by_test
    items.sort(key=lambda item: durations.get(item.nodeid, 0))
