"""Innocents that use the freedoms of the second version of the rules for verdicts."""

from __future__ import annotations

from copy import deepcopy

from . import grants
from .broken import is_cut, raised
from .content import split_text
from .model import Answer, Json, TrialFacts
from .registry import Registry
from .rewrite import get_content, iter_events, map_blocks, replace_content

innocents = Registry()


@innocents.register("calls-in-another-order", grants.BY_ID, may_warn=True)
def _reverse_calls(facts: TrialFacts, answer: Answer) -> None:
    """Reports the calls in reverse order, in the places of the calls."""
    blocks = deepcopy(get_content(answer))
    places = [
        position
        for position, block in enumerate(blocks)
        if block["type"] == "tool_call"
        and block["executor"] == "client"
        # An id that the client made up identifies the call only to the client.
        and str(block["id"]).encode() in facts.body
    ]
    calls = [blocks[position] for position in places]
    for position, call in zip(places, reversed(calls), strict=True):
        blocks[position] = call
    replace_content(answer, blocks)


@innocents.register("without-stop", grants.NO_STOP, grants.STOP, without=("stop", "raw_stop"))
def _drop_stop(facts: TrialFacts, answer: Answer) -> None:
    """Exposes no stop reason."""
    del facts
    del answer["outcome"]["stop"]
    for event in answer.get("events") or ():
        event.pop("stop", None)


@innocents.register(
    "thinking-in-halves",
    grants.SPLIT_THINKING,
    may_warn=True,
)
def _split_thinking(facts: TrialFacts, answer: Answer) -> None:
    """Reports each thought as two blocks, of which only the last is signed."""
    del facts

    def change(block: Json) -> list[Json]:
        if block["type"] != "thinking" or block["redacted"] or len(block["text"]) < 2:
            return [block]
        return split_text(block, len(block["text"]) // 2)

    map_blocks(answer, change)


@innocents.register(
    "extra-provider-call",
    grants.UNNAMED_PROVIDER_CALL,
)
def _add_provider_call(facts: TrialFacts, answer: Answer) -> None:
    """Reports a step of the provider as a call that the provider ran."""
    del facts
    call: Json = {
        "type": "tool_call",
        "id": "extra-provider-call",
        "name": "hosted_step",
        "arguments": {},
        "arguments_text": "{}",
        "complete": True,
        "executor": "provider",
        "signature": None,
    }
    replace_content(answer, [call, *get_content(answer)])


@innocents.register(
    "zeros-before-a-cut",
    grants.COUNT_NEVER_GIVEN,
    may_warn=True,
)
def _count_from_zero(facts: TrialFacts, answer: Answer) -> None:
    """Reports 0 for each count that had not arrived when the stream was cut."""
    if is_cut(facts, answer):
        for holder in (answer["outcome"], *iter_events(answer)):
            if "usage" in holder:
                usage = holder["usage"] or {}
                holder["usage"] = usage | {key: usage.get(key) or 0 for key in ("input", "output")}


@innocents.register("zeros-for-missing-counts", grants.ZERO_FOR_NULL, may_warn=True)
def _fill_with_zeros(facts: TrialFacts, answer: Answer) -> None:
    """Reports 0 for each count that the stream never gave, as a language without null does."""
    if not is_cut(facts, answer):
        for holder in (answer["outcome"], *iter_events(answer)):
            if holder.get("usage"):
                holder["usage"] = {key: count or 0 for key, count in holder["usage"].items()}


@innocents.register(
    "unfinished-calls-beside-an-exception",
    grants.BESIDE_EXCEPTION,
    grants.UNFINISHED_CALL,
    may_warn=True,
)
def _keep_calls(facts: TrialFacts, answer: Answer) -> None:
    """Raises if a stream was cut, and keeps an unfinished call with the arguments so far."""
    if not is_cut(facts, answer):
        return
    for block in get_content(answer):
        if block["type"] == "tool_call" and block["complete"] is False:
            block |= {"complete": True, "arguments": block["arguments"] or {}}
    outcome = answer["outcome"]
    answer.clear()
    answer |= {
        "outcome": {
            "status": "error",
            "content": outcome["content"],
            "stop": {"reason": "error"},
            "usage": outcome["usage"],
        },
        "raised": raised("the stream ended early"),
    }
