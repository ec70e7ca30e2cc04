"""What a mutant is, and patterns over check ids that several of them share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Mutant:
    """What a mutant does wrong, where that was reported, and which checks may fail because of it.

    `fails` are globs over check ids, matched by whole components split at `/ @ : .`: `*` is one
    component, `**` any number. Every check that fails for the mutant matches one of them.
    """

    name: str
    bug: str
    issues: tuple[str, ...]
    fails: tuple[str, ...]


STATUS: Final = ("**:status", "**:stop", "**:stop.**")
ERROR: Final = (*STATUS, "**:error", "**:error.**")
MONEY: Final = ("**:usage.**", "**:cost.**")
# A parser that gives up in mid-stream: what came until then depends on where.
GIVES_UP: Final = (
    *ERROR,
    *MONEY,
    "**:content.**",
    "**:model",
    "**:response_id",
    "**:invariant.**",
)
# of a call, or of more calls than had ended when the stream broke
COMPLETE: Final = ("**:content.*.tool_call.complete", "**:content.complete_calls")
ARGUMENTS: Final = "**:content.*.tool_call.arguments"
