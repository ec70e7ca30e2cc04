"""Innocents that divide the same answer into events differently."""

from __future__ import annotations

from . import grants
from .model import ORDERED, Answer, Json, TrialFacts
from .registry import Registry
from .rewrite import emit_again, iter_events

innocents = Registry()


@innocents.register("one-delta-per-block", grants.DELTAS)
def _merge_deltas(facts: TrialFacts, answer: Answer) -> None:
    """Emits one delta per block."""
    del facts
    if "events" in answer:
        emit_again(answer)


@innocents.register("one-delta-per-character", grants.DELTAS)
def _split_deltas(facts: TrialFacts, answer: Answer) -> None:
    """Emits one delta per character."""
    del facts
    if "events" not in answer:
        return
    answer.pop("taken", None)
    events: list[Json] = []
    for event in iter_events(answer):
        delta = event.get("delta")
        if delta is None:
            events.append(event)
        else:
            events += ({**event, "delta": character} for character in delta)
    answer["events"] = events


@innocents.register("extra-usage-events", grants.USAGE_EVENTS)
def _repeat_usage(facts: TrialFacts, answer: Answer) -> None:
    """Emits a usage event without counts at the start, and repeats every later one."""
    del facts
    if "events" not in answer:
        return
    answer.pop("taken", None)
    zero: Json = {"type": "usage", "usage": {}, "cost": None}
    events = [again for event in iter_events(answer) for again in [event] * (1 + (event["type"] == "usage"))]
    # A claimed group is reported if it arrived, and the last event must agree with the outcome.
    answer["events"] = [zero, *events] if any(event["type"] == "usage" for event in events) else events


@innocents.register("no-ends-of-text", grants.STARTS_AND_ENDS)
def _drop_ends(facts: TrialFacts, answer: Answer) -> None:
    """Emits end events only for complete calls."""
    del facts
    if "events" in answer:
        answer.pop("taken", None)
        answer["events"] = [
            event
            for event in iter_events(answer)
            if not event["type"].endswith("_end")
            or (event["type"] == "toolcall_end" and event["tool_call"]["complete"])
        ]


@innocents.register(
    "no-events-without-content",
    grants.STARTS_AND_ENDS,
    apis=ORDERED,
)
def _skip_empty_blocks(facts: TrialFacts, answer: Answer) -> None:
    """Emits no events for blocks without text, such as redacted thinking."""
    del facts
    if "events" not in answer:
        return
    content = answer["outcome"]["content"]
    empty = {
        index
        for index, block in enumerate(content)
        if block["type"] != "tool_call" and (not block.get("text") or block.get("redacted"))
    }
    events = [event for event in iter_events(answer) if event.get("content_index") not in empty]
    if len(events) != len(answer["events"]):
        answer["events"] = events
        answer.pop("taken", None)


@innocents.register("chunk-counts-absent", grants.CHUNK_COUNTS, apis=())
def _drop_taken(facts: TrialFacts, answer: Answer) -> None:
    """Does not report how many chunks it had read."""
    del facts
    answer.pop("taken", None)
