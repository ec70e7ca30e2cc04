"""Innocents that split, join, add or order content blocks differently."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Final

from . import grants
from .model import ORDERED, Answer, Json, TrialFacts
from .registry import Registry
from .rewrite import get_content, iter_blocks, iter_events, map_blocks, replace_content

innocents = Registry()

CHAT: Final = ("openai-chat", "ollama-chat", "cohere-chat")
"""The APIs whose messages do not record the order of text and calls."""
EMPTY: Final[dict[str, Json]] = {
    "text": {"type": "text", "text": "", "phase": None, "signature": None, "citations": []},
    "refusal": {"type": "refusal", "text": ""},
    "thinking": {"type": "thinking", "text": "", "signature": None, "redacted": False},
}
"""A block of each type without content."""


def _has_positions(block: Json) -> bool:
    return any(citation.get("start") is not None for citation in block["citations"])


def split_text(block: Json, at: int) -> list[Json]:
    """Return the two parts of a text or thinking block; only the last part is signed."""
    first, second = deepcopy(block), deepcopy(block)
    first |= {"text": block["text"][:at]}
    second |= {"text": block["text"][at:]}
    if "signature" in block:
        first["signature"] = None
    if "citations" in block:
        first["citations"] = []
        for citation in second["citations"]:
            for key in ("start", "end"):
                if citation.get(key) is not None:
                    citation[key] -= at
    return [first, second]


@innocents.register("text-in-halves", grants.JOINED)
def _split_texts(facts: TrialFacts, answer: Answer) -> None:
    """Reports each text as two blocks, and a text with positions of citations as one."""
    del facts

    def change(block: Json) -> list[Json]:
        # Positions are in the provider's units, so the length of the first half is not known in them.
        if block["type"] == "text" and len(block["text"]) > 1 and not _has_positions(block):
            return split_text(block, len(block["text"]) // 2)
        return [block]

    map_blocks(answer, change)


@innocents.register("first-character-apart", grants.JOINED)
def _split_first_character(facts: TrialFacts, answer: Answer) -> None:
    """Reports the first character of each text as a block of its own."""
    del facts

    def change(block: Json) -> list[Json]:
        text = block.get("text") or ""
        # An ASCII character has the same length in all units.
        if block["type"] != "text" or len(text) < 2 or not text[0].isascii():
            return [block]
        starts = [citation.get("start") for citation in block["citations"]]
        return [block] if 0 in starts else split_text(block, 1)

    map_blocks(answer, change)


@innocents.register(
    "refusal-in-halves",
    grants.REFUSAL_EVENTS,
    apis=("openai-chat", "openai-responses"),
)
def _split_refusals(facts: TrialFacts, answer: Answer) -> None:
    """Reports each refusal as two blocks."""
    del facts

    def change(block: Json) -> list[Json]:
        if block["type"] != "refusal" or len(block["text"]) < 2:
            return [block]
        return split_text(block, len(block["text"]) // 2)

    map_blocks(answer, change)


@innocents.register(
    "texts-joined",
    grants.MAY_JOIN,
    grants.SIGNED_TEXT,
    apis=ORDERED,
)
def _join_texts(facts: TrialFacts, answer: Answer) -> None:
    """Joins adjacent texts, unless their phases differ or the first one is signed."""
    del facts
    joined: list[Json] = []
    for block in deepcopy(get_content(answer)):
        before = joined[-1] if joined else None
        if before is None or not _can_join(before, block):
            joined.append(block)
            continue
        for citation in block["citations"]:
            for key in ("start", "end"):
                if citation.get(key) is not None:
                    citation[key] += len(before["text"])
        before["text"] += block["text"]
        before["signature"] = block["signature"]
        before["citations"] += block["citations"]
    replace_content(answer, joined)


def _can_join(before: Json, block: Json) -> bool:
    return (
        before["type"] == block["type"] == "text"
        and before["phase"] == block["phase"]
        and not before["signature"]
    )


@innocents.register("empty-texts-kept", grants.MAY_JOIN, grants.REMOVED)
def _add_empty_texts(facts: TrialFacts, answer: Answer) -> None:
    """Reports an empty text before and after each block."""
    del facts
    _surround(answer, EMPTY["text"])


@innocents.register("empty-refusals-kept", grants.REMOVED)
def _add_empty_refusals(facts: TrialFacts, answer: Answer) -> None:
    """Reports an empty refusal before and after the content."""
    del facts
    empty = EMPTY["refusal"]
    replace_content(answer, [deepcopy(empty), *get_content(answer), deepcopy(empty)])


@innocents.register("empty-thinking-kept", grants.REMOVED)
def _add_empty_thinking(facts: TrialFacts, answer: Answer) -> None:
    """Reports thinking without text or signature before and after each block."""
    del facts
    _surround(answer, EMPTY["thinking"])


def _surround(answer: Answer, empty: Json) -> None:
    blocks = [new for block in get_content(answer) for new in (block, deepcopy(empty))]
    replace_content(answer, [deepcopy(empty), *blocks])


@innocents.register("other-blocks-added", grants.REMOVED, grants.KINDS)
def _add_other(facts: TrialFacts, answer: Answer) -> None:
    """Reports additional `other` blocks of its own kind before and after the content."""
    del facts
    extra: Json = {"type": "other", "kind": "progress-of-the-client", "data": {"step": 1}}
    replace_content(answer, [extra, *get_content(answer), deepcopy(extra)])


@innocents.register(
    "other-blocks-dropped",
    grants.REMOVED,
    grants.KINDS,
    apis=ORDERED,
)
def _drop_other(facts: TrialFacts, answer: Answer) -> None:
    """Does not report `other` blocks whose kind the case does not name."""
    replace_content(
        answer,
        [block for block in get_content(answer) if block["type"] != "other" or block["kind"] in facts.kinds],
    )


@innocents.register(
    "unknown-keys",
    grants.UNKNOWN_KEYS,
)
def _add_keys(facts: TrialFacts, answer: Answer) -> None:
    """Adds a key of its own to the outcome, its groups, each block and each event."""
    del facts
    outcome = answer["outcome"]
    groups = [outcome[name] for name in ("stop", "usage", "cost", "error") if isinstance(outcome[name], dict)]
    for holder in (outcome, *groups, *outcome["content"], *iter_events(answer)):
        holder["x_client"] = {"version": 1}


@innocents.register("text-first", grants.ONE_TEXT, grants.POSITIONS, apis=CHAT)
def _put_text_first(facts: TrialFacts, answer: Answer) -> None:
    """Reports the text before thinking and calls."""
    _sort(facts, answer, ("text", "refusal", "thinking", "tool_call", "other"))


@innocents.register("calls-first", grants.ONE_TEXT, grants.POSITIONS, apis=CHAT)
def _put_calls_first(facts: TrialFacts, answer: Answer) -> None:
    """Reports calls before text and thinking."""
    _sort(facts, answer, ("tool_call", "text", "thinking", "refusal", "other"))


@innocents.register("thinking-last", grants.ONE_TEXT, grants.POSITIONS, apis=CHAT)
def _put_thinking_last(facts: TrialFacts, answer: Answer) -> None:
    """Reports thinking after text and calls."""
    _sort(facts, answer, ("other", "refusal", "text", "tool_call", "thinking"))


def _sort(facts: TrialFacts, answer: Answer, types: Sequence[str]) -> None:
    if not facts.has_order:
        replace_content(answer, sorted(get_content(answer), key=lambda block: types.index(block["type"])))


@innocents.register("unsigned-thinking-split", grants.ONE_TEXT, apis=CHAT)
def _split_unsigned_thinking(facts: TrialFacts, answer: Answer) -> None:
    """Reports each unsigned thought as two blocks, one of them at the end."""
    if facts.has_order:
        return
    moved: list[Json] = []

    def change(block: Json) -> list[Json]:
        if block["type"] != "thinking" or block["signature"] or block["redacted"] or len(block["text"]) < 2:
            return [block]
        first, second = split_text(block, 1)
        moved.append(second)
        return [first]

    blocks = [new for block in get_content(answer) for new in change(deepcopy(block))]
    # A thought that is moved past another one would change the order of the text.
    if len(moved) == 1:
        replace_content(answer, [*blocks, *moved])


@innocents.register(
    "keys-reversed",
    grants.JSON_VALUES,
)
def _reverse_keys(facts: TrialFacts, answer: Answer) -> None:
    """Reports the keys of arguments, and of every other object, in reverse order."""
    del facts
    answer["outcome"] = _reverse(answer["outcome"])
    if "events" in answer:
        answer["events"] = _reverse(answer["events"])


def _reverse(value: Any) -> Any:
    match value:
        case dict():
            return {key: _reverse(item) for key, item in reversed(value.items())}
        case list():
            return [_reverse(item) for item in value]
        case _:
            return value


@innocents.register(
    "numbers-as-floats",
    grants.JSON_VALUES,
)
def _use_floats(facts: TrialFacts, answer: Answer) -> None:
    """Reads every number in arguments as a float, and 1.0 as 1."""
    del facts
    for block in iter_blocks(answer, "tool_call"):
        block["arguments"] = _swap_numbers(block["arguments"])


def _swap_numbers(value: Any) -> Any:
    match value:
        case bool():
            return value
        case int() if abs(value) < 2**53:
            return float(value)
        case float() if value.is_integer() and abs(value) < 2**53:
            return int(value)
        case dict():
            return {key: _swap_numbers(item) for key, item in value.items()}
        case list():
            return [_swap_numbers(item) for item in value]
        case _:
            return value


@innocents.register("empty-signatures", grants.EMPTY_SIGNATURE)
def _sign_with_nothing(facts: TrialFacts, answer: Answer) -> None:
    """Reports an empty text in place of a missing signature."""
    del facts
    for block in iter_blocks(answer, "text", "thinking", "tool_call"):
        if block.get("signature", "") is None:
            block["signature"] = ""


_TAGS: Final = re.compile(r"\s*<think>(.*?)</think>\s*(.*)", re.DOTALL)


@innocents.register("think-tags-read", grants.THINK_TAGS, apis=("openai-chat",))
def _read_tags(facts: TrialFacts, answer: Answer) -> None:
    """Reports text between `<think>` tags at the beginning as thinking."""
    del facts

    def change(block: Json) -> list[Json]:
        tagged = _TAGS.fullmatch(block["text"]) if block["type"] == "text" else None
        if tagged is None:
            return [block]
        return [EMPTY["thinking"] | {"text": tagged[1].strip()}, block | {"text": tagged[2]}]

    map_blocks(answer, change)
