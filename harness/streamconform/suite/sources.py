"""Find the folders of a suite's specs and cassettes from the settings of a command or a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streamconform.resources import find_bundled
from streamconform.suite.load import RECORDED, Sources
from streamconform.user_cache import locate_pulled


def find_sources(settings: Mapping[str, Any]) -> Sources:
    """Return the folders of specs and cassettes: as set, else `cassettes` beside the specs, else bundled.

    With the setting `recorded`, or a pattern for a topic of pulled recordings, the suite is the cases over
    these alone. Raises `UsageError` if nothing is bundled.
    """
    specs, cassettes = settings.get("specs"), settings.get("cassettes")
    if specs and not cassettes:
        sibling = Path(specs).resolve().parent / "cassettes"
        cassettes = sibling if sibling.is_dir() else None
    recorded = settings.get("recorded") or any(map(names_pulled, settings.get("select") or ()))
    return Sources(
        Path(specs) if specs else find_bundled("specs"),
        Path(cassettes) if cassettes else find_bundled("cassettes"),
        locate_pulled(None) if recorded else None,
    )


def names_pulled(pattern: str) -> bool:
    """Return whether a pattern or an id has a topic of pulled recordings."""
    return f"/{RECORDED}" in pattern or pattern.startswith(RECORDED)
