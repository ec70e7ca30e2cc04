"""Innocents that report calls that must not run, and ids, in each allowed form."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Final

from . import grants
from .model import Answer, Json, TrialFacts
from .registry import Registry
from .rewrite import get_content, map_blocks, must_not_run, replace_content

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


# A warning where a call may or may not have ended: a client that takes it as ended must not lose it.
@innocents.register("cut-calls-left-out", *_FORMS, may_warn=True)
def _leave_out(facts: TrialFacts, answer: Answer) -> None:
    """Leaves out a call that must not run."""
    del facts
    map_blocks(answer, lambda block: [] if must_not_run(block) else [block])


_WITHOUT_IDS: Final = ("google-generate", "ollama-chat", "openai-chat")


def _has_own_id(facts: TrialFacts, block: Json) -> bool:
    """Return whether the parser made up the id of a call."""
    id_ = block["id"]
    # The frames of bedrock-invoke are base64, which hides ids.
    return id_ is not None and facts.api != "bedrock-invoke" and str(id_).encode() not in facts.body


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
    """Reports an id of its own if the stream has no id for a call."""
    blocks = deepcopy(get_content(answer))
    for position, block in enumerate(blocks):
        if block["type"] == "tool_call" and (block["id"] is None or _has_own_id(facts, block)):
            block["id"] = f"made-up-{position}"
    replace_content(answer, blocks)


_DOCUMENTS_WITH_OBJECTS: Final = ("anthropic-messages", "bedrock-converse", "bedrock-invoke", "ollama-chat")


@innocents.register("limited-calls-of-documents-cut", grants.LIMITED_DOCUMENT, apis=_DOCUMENTS_WITH_OBJECTS)
def _cut_calls_of_documents(facts: TrialFacts, answer: Answer) -> None:
    """Reports the last call of a non-streaming answer that a limit ended as cut."""
    if facts.api in _DOCUMENTS_WITH_OBJECTS and not facts.stream:
        _cut_last_call(answer)


def _cut_last_call(answer: Answer) -> None:
    blocks = deepcopy(get_content(answer))
    is_limited = answer["outcome"]["stop"]["reason"] in ("length", "content_filter")
    if is_limited and blocks and blocks[-1]["type"] == "tool_call":
        blocks[-1]["complete"] = False
        replace_content(answer, blocks)


@innocents.register("free-text-as-object", grants.FREE_TEXT, apis=("openai-responses",))
def _wrap_free_text(facts: TrialFacts, answer: Answer) -> None:
    """Reports the input of a custom call as an object with the text."""
    del facts

    def change(block: Json) -> list[Json]:
        if block["type"] == "tool_call" and isinstance(block["arguments"], str) and _is_free_text(block):
            block["arguments"] = {"input": block["arguments"]}
        return [block]

    map_blocks(answer, change)


def _is_free_text(call: Json) -> bool:
    try:
        json.loads(call["arguments_text"])
    except ValueError:
        return True
    return False
