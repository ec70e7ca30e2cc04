"""Innocents that use what a case allows explicitly: its alternatives, and continuing a paused answer."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final

from . import grants
from .broken import raised
from .content import EMPTY
from .model import Alternatives, Answer, Json, TrialFacts
from .registry import Registry
from .rewrite import emit_again, get_content, iter_events, set_status

innocents = Registry()


@innocents.register("every-alternative", grants.OPEN, may_warn=True)
def _use_alternatives(facts: TrialFacts, answer: Answer) -> Iterator[Answer]:
    """Gives each value that a case allows with `any_of`, one answer per value."""
    for place in facts.alternatives:
        for value in place.values:
            changed = deepcopy(answer)
            if place.block is None:
                _set_value(changed, place.path, value)
            else:
                _set_in_block(changed, place, value)
            yield changed


def _set_value(answer: Answer, path: str, value: Any) -> None:
    outcome = answer["outcome"]
    group, _, key = path.partition(".")
    if path == "status":
        error: Json = {"type": "protocol", "message": "the stream is broken", "status": None}
        set_status(answer, value, error)
        return
    for holder in (outcome, *iter_events(answer)):
        if not key and group in holder:
            holder[group] = deepcopy(value)
        elif key and isinstance(holder.get(group), dict):
            holder[group][key] = deepcopy(value)
    if key and outcome.get(group) is None and value is not None:
        outcome[group] = {key: value}


def _set_in_block(answer: Answer, place: Alternatives, value: Any) -> None:
    assert place.block is not None, "the caller has checked it"
    block = get_content(answer)[place.block]
    block[place.path] = deepcopy(value)
    if place.path == "arguments":
        # Without the text, the deltas do not have to agree with it.
        block["arguments_text"] = None
    emit_again(answer)


@innocents.register(
    "raises-where-a-status-is-open",
    grants.OPEN,
    may_warn=True,
)
def _raise_on_open_status(facts: TrialFacts, answer: Answer) -> None:
    """Raises, with the content so far, where a case allows several statuses and one of them is `error`."""
    if len(facts.statuses) > 1 and "error" in facts.statuses:
        set_status(answer, "error", {"type": "protocol", "message": "the stream is broken", "status": None})
        answer["raised"] = raised("the stream is broken")
        answer.pop("events", None)
        answer.pop("taken", None)


_PAUSING: Final = (
    "anthropic-messages",
    "bedrock-invoke",
    "google-generate",
    "google-interactions",
)


@innocents.register("continues-paused-answers", grants.PAUSED, grants.CONTINUED, apis=_PAUSING)
def _continue(facts: TrialFacts, answer: Answer) -> None:
    """Sends a paused answer back, and reports both answers."""
    _finish(facts, answer, get_content(answer))


@innocents.register("reports-the-last-of-paused-answers", grants.PAUSED, apis=_PAUSING)
def _report_last(facts: TrialFacts, answer: Answer) -> None:
    """Sends a paused answer back, and reports only the last answer."""
    _finish(facts, answer, [])


def _finish(facts: TrialFacts, answer: Answer, content: list[Json]) -> None:
    """Append the final answer of the replay server to `content`, if the answer is paused."""
    outcome = answer["outcome"]
    if (outcome["status"], outcome["stop"]["reason"]) != ("complete", "pause"):
        return
    outcome["content"] = [*content, EMPTY["text"] | {"text": facts.final_text}]
    outcome["stop"] = {"reason": "stop", "raw": None, "sequence": None, "details": None}
    outcome["usage"] = dict.fromkeys(outcome["usage"] or (), 1)
    outcome["continuation"] = None
    if "events" in answer:
        answer["events"] = [{"type": "done", "stop": deepcopy(outcome["stop"])}]
        emit_again(answer)
    answer["continued"] = True
