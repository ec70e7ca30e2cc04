"""The `Mutant` value, and patterns over check ids that several mutants share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from streamconform_reference.adapter import Adapter

Path = Literal["stream", "document", "request", "replay", "behavior"]
"""What an implementation does with an API: the kind of case that catches a bug in it."""
BOTH: Final[tuple[Path, ...]] = ("stream", "document")
"""The paths on which an implementation reads an answer."""
MutantTrials = Literal["all", "once", "once and broken"]
"""The trials of a case that a mutant runs. A bug in the outcome alone is the same in every delivery."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A broken adapter: its bug, the bug's kind (a key of `specs/kinds.yaml`), and the checks that may fail.

    On each API of the adapter and on each of `paths`, some case must catch the mutant. `fails` are globs over
    check ids, matched by whole components split at `/ @ : .`: `*` matches one component, `**` any number. If
    a check fails and matches none of them, the mutant is defective.
    """

    name: str
    bug: str
    adapter: Adapter
    kind: str
    paths: tuple[Path, ...]
    fails: tuple[str, ...]
    trials: MutantTrials = "all"


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
