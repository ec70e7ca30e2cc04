"""An empty argument text is parsed as JSON, which fails."""

from __future__ import annotations

from streamconform_reference.outcome import Json

from ._tools import rewriting


def drop_empty_arguments(block: Json) -> None:
    """Take the arguments from a call whose text is empty."""
    if block.get("arguments") == {} and not (block["arguments_text"] or "").strip():
        block["arguments"] = None


adapter = rewriting("empty-arguments-dropped", drop_empty_arguments)
