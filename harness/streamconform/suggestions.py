"""Suggest the closest known names at the end of a message about an unknown name. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

MAX_SUGGESTIONS: Final = 3


def suggest(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean ...?` with the names in `known` closest to `name`, or "" if none is close."""
    closest = difflib.get_close_matches(name, list(known), n=MAX_SUGGESTIONS, cutoff=0.6)
    return f"; did you mean {', '.join(f'`{other}`' for other in closest)}?" if closest else ""
