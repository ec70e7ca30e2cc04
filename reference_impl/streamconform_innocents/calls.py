"""Innocents that report calls that must not run, and ids, in each allowed form."""

from __future__ import annotations

from typing import Final

from . import grants
from .model import Answer, Json, TrialFacts
from .registry import Registry
from .rewrite import emit_again, get_content, map_blocks, must_not_run

innocents = Registry()

_FORMS: Final = (
    grants.THREE_FORMS,
    grants.TRUNCATED_CALL,
    grants.MALFORMED_CALL,
)


@innocents.register("cut-calls-incomplete", *_FORMS)
def _mark_incomplete(facts: TrialFacts, answer: Answer) -> None:
    """Marks a call that must not run as incomplete, with the arguments `{}`."""
    del facts

    def change(block: Json) -> list[Json]:
        if must_not_run(block):
            block |= {"complete": False, "arguments": {}}
        return [block]

    map_blocks(answer, change)


@innocents.register("cut-calls-with-null-arguments", *_FORMS)
def _null_arguments(facts: TrialFacts, answer: Answer) -> None:
    """Reports null as the arguments of a call that must not run, without the key `complete`."""
    del facts

    def change(block: Json) -> list[Json]:
        if must_not_run(block):
            block["arguments"] = None
            del block["complete"]
        return [block]

    map_blocks(answer, change)


@innocents.register("cut-calls-complete-with-null-arguments", *_FORMS)
def _null_arguments_but_complete(facts: TrialFacts, answer: Answer) -> None:
    """Reports null as the arguments of a call that must not run, and every call as complete."""
    del facts

    def change(block: Json) -> list[Json]:
        if must_not_run(block):
            block |= {"arguments": None, "complete": True}
        return [block]

    map_blocks(answer, change)


@innocents.register("cut-calls-left-out", *_FORMS)
def _leave_out(facts: TrialFacts, answer: Answer) -> None:
    """Leaves out a call that must not run."""
    del facts
    map_blocks(answer, lambda block: [] if must_not_run(block) else [block])


_WITHOUT_IDS: Final = ("google-generate", "ollama-chat", "openai-chat")


def _has_own_id(facts: TrialFacts, block: Json) -> bool:
    """Return whether the parser made up the id of a call."""
    id_ = block["id"]
    return block["type"] == "tool_call" and id_ is not None and str(id_).encode() not in facts.body


@innocents.register("ids-null-if-none-arrived", grants.NO_ID_DECIDED, grants.NULL_ID, apis=_WITHOUT_IDS)
def _null_own_ids(facts: TrialFacts, answer: Answer) -> None:
    """Reports null if the stream has no id for a call."""

    def change(block: Json) -> list[Json]:
        if block["type"] == "tool_call" and _has_own_id(facts, block):
            block["id"] = None
        return [block]

    map_blocks(answer, change)


@innocents.register("ids-made-up-if-none-arrived", grants.NO_ID_DECIDED, apis=_WITHOUT_IDS)
def _make_up_ids(facts: TrialFacts, answer: Answer) -> None:
    """Reports a random id if the stream has no id for a call."""
    for position, block in enumerate(get_content(answer)):
        if block["type"] == "tool_call" and (block["id"] is None or _has_own_id(facts, block)):
            block["id"] = f"made-up-{position}"
    emit_again(answer)
