"""Explain why an outcome or its events are not in the normal form, using the schemas' messages. Pure.

A JSON Schema validator takes about a millisecond per block or event, and an answer may contain a million of
them. Therefore, it is given only those that the decoder rejects, and only the first few of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Final

from streamconform.judge import decode
from streamconform.schemas import MAX_PROBLEMS, find_problems

MAX_EVENT_PROBLEMS: Final = 5
"""The maximum number of event problems to list in a message."""
_WHOLE: Final = "(whole): "


def explain_malformed_outcome(outcome: Any) -> str:
    """Return the first problems in an outcome that `decode_outcome` rejects."""
    if isinstance(outcome, dict) and isinstance(outcome.get("content"), list):
        of_content = (
            f"content.{i}{_append_path(problem)}"
            for i, block in _find_malformed(outcome["content"], decode.decode_block)
            for problem in find_problems("outcome.v1", block, "block")
        )
        # Without the blocks, whose problems come first: validating them all would take too long.
        messages = chain(of_content, find_problems("outcome.v1", outcome | {"content": []}))
    else:
        messages = chain(find_problems("outcome.v1", outcome))
    return "; ".join(islice(messages, MAX_PROBLEMS)) or "not in the normal form"


def explain_malformed_events(events: Any) -> str:
    """Return the first few problems in events that `decode_events` rejects."""
    if not isinstance(events, list):
        return "events are not a list"
    malformed = _find_malformed(events, decode.decode_event)
    messages = (
        f"event {i}: {message}" for i, event in malformed for message in find_problems("event.v1", event)
    )
    return "; ".join(islice(messages, MAX_EVENT_PROBLEMS)) or "not in the normal form"


def _find_malformed(values: Sequence[Any], decoder: Callable[[Any], Any]) -> Iterator[tuple[int, Any]]:
    for i, value in enumerate(values):
        try:
            decoder(value)
        except decode.MalformedError:
            yield i, value


def _append_path(problem: str) -> str:
    """Return a block's problem as the end of a message about the outcome: `.id: 5 is not a string`."""
    return f": {problem.removeprefix(_WHOLE)}" if problem.startswith(_WHOLE) else f".{problem}"
