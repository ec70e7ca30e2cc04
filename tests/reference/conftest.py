"""Tests marked `corpus` run where STREAMCONFORM_CORPUS names a folder of captures."""

from __future__ import annotations

import os

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("STREAMCONFORM_CORPUS"):
        return
    corpus = [item for item in items if item.get_closest_marker("corpus")]
    if corpus:
        config.hook.pytest_deselected(items=corpus)
        items[:] = [item for item in items if item not in corpus]
