"""The `Mutant` value, and patterns over check ids that several mutants share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from streamconform_reference.adapter import Adapter


@dataclass(frozen=True, slots=True)
class Mutant:
    """A broken adapter: its bug, the issues that report that bug, and the checks that may fail.

    `fails` are globs over check ids, matched by whole components split at `/ @ : .`: `*` matches one
    component, `**` any number. If a check fails and matches none of them, the mutant is defective.
    """

    name: str
    bug: str
    issues: tuple[str, ...]
    fails: tuple[str, ...]
    adapter: Adapter


STATUS: Final = ("**:status", "**:stop", "**:stop.**")
STOP_REASON: Final = ("**:stop", "**:stop.reason")
ERROR: Final = (*STATUS, "**:error", "**:error.**")
USAGE: Final = ("**:usage.**", "**:cost.**")
CONTENT: Final = ("**:content.**",)
# A parser that gives up mid-stream loses everything after that point.
GIVES_UP: Final = (
    *ERROR,
    *USAGE,
    *CONTENT,
    "**:model",
    "**:response_id",
    "**:invariant.**",
)
# `complete_calls` is checked if a fault breaks the stream after some calls have ended.
COMPLETE: Final = ("**:content.*.tool_call.complete", "**:content.complete_calls")
ARGUMENTS: Final = ("**:content.*.tool_call.arguments",)
ARGUMENTS_TEXT: Final = ("**:content.*.tool_call.arguments_text",)
