"""A call that was cut off is complete all the same."""

from __future__ import annotations

from streamconform_reference.outcome import Json

from ._tools import rewriting


def complete_the_call(block: Json) -> None:
    """Mark a call as complete."""
    if block.get("complete") is False:
        block["complete"] = True


adapter = rewriting("truncated-call-executed", complete_the_call)
