"""What Gemini's `generateContent` cannot say, and what an encoder says instead.

Source: https://ai.google.dev/api/generate-content, https://ai.google.dev/gemini-api/docs/troubleshooting
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from streamconform_reference.encoding.arguments_text import each_call, without_text
from streamconform_reference.encoding.encoder import Loss
from streamconform_reference.encoding.losses import (
    COST,
    NAMES,
    REFUSALS,
    each_block,
    error_alone,
    keep_blocks,
    stop_as,
    whole_characters,
)
from streamconform_reference.encoding.stop_words import StopWords
from streamconform_reference.outcome import (
    Block,
    Error,
    Other,
    Outcome,
    Stop,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    Usage,
)

from .decode import METADATA, PARTS
from .failures import is_finish, own_error
from .reasons import STOP_REASONS

WORDS: Final = StopWords(
    STOP_REASONS,
    {
        "stop": "STOP",
        "tool_use": "STOP",
        "length": "MAX_TOKENS",
        "content_filter": "SAFETY",
        "refusal": "SAFETY",
        "pause": "OTHER",
        "other": "OTHER",
    },
)
MALFORMED: Final = "MALFORMED_FUNCTION_CALL"
_BLOCKED: Final = frozenset({"JAILBREAK", "OTHER"})
"""Why a prompt was blocked, by words that mean something else, or nothing, at the end of an answer."""
_PARTS: Final = frozenset(PARTS) - {"functionCall", "toolCall"}


# Blocks.


def is_part(other: Other) -> bool:
    """Whether a block is a part of this api's content."""
    return other.kind in _PARTS and isinstance(other.data, dict)


def is_metadata(other: Other) -> bool:
    """Whether a block is what this api says of the candidate as a whole."""
    return other.kind in METADATA and isinstance(other.data, dict) and bool(other.data)


def is_expressible(block: Block) -> bool:
    """Whether a block is anything but a call that the api has no part for.

    A part is a whole call, so there is none for one that was cut off. Its arguments are an object.
    """
    if not isinstance(block, ToolCall):
        return True
    return block.complete and isinstance(block.arguments, dict) and (bool(block.name) or is_hosted(block))


def is_malformed(block: Block) -> bool:
    """Whether a block is a call for the client with other arguments than an object."""
    ended = isinstance(block, ToolCall) and block.complete and block.executor == "client" and block.name
    return bool(ended) and not is_expressible(block)


def is_hosted(call: ToolCall) -> bool:
    """Whether the provider runs a call itself."""
    return call.executor == "provider"


def malformed(call: ToolCall) -> Error:
    """Return the error of an answer with such a call."""
    return Error(MALFORMED, f"Malformed function call: {call.name}", None)


def unredacted(block: Block) -> Iterator[Block]:
    """Yield a block, thinking without its signature where that is the thinking itself."""
    if isinstance(block, Thinking) and block.redacted:
        yield Thinking(text=block.text, signature=None, redacted=False)
    else:
        yield block


def as_read(outcome: Outcome) -> Outcome:
    """Return the outcome with its prose as it is read where there are no blocks on the wire.

    Neighbours of one kind are one, unless a signature ends the first. A signature without thinking is that of
    unsigned thinking right before it, and else parts nothing.
    """
    blocks: list[Block] = []
    at = -1  # where the prose is that can go on

    def goes_on(block: Block) -> Block | None:
        last = blocks[at] if at >= 0 else None
        return (
            last
            if type(last) is type(block) and not (isinstance(last, Thinking) and last.signature)
            else None
        )

    for block in outcome.content:
        last = goes_on(block)
        if isinstance(last, Thinking) and isinstance(block, Thinking):
            text = whole_characters(last.text + block.text)
            blocks[at] = replace(last, text=text, signature=block.signature)
        elif isinstance(last, Text) and isinstance(block, Text):
            blocks[at] = Text(whole_characters(last.text + block.text))
        elif isinstance(block, (Text, Thinking)):
            if block.text:
                at = len(blocks)
            if block.text or (isinstance(block, Thinking) and block.signature):
                blocks.append(block)
        else:
            blocks.append(block)
            at = at if isinstance(block, Other) and is_metadata(block) else -1
    return replace(outcome, content=tuple(blocks))


def _own_others(outcome: Outcome) -> Outcome:
    kept: list[Block] = []
    places: dict[str, int] = {}
    for block in outcome.content:
        if isinstance(block, Other):
            if is_metadata(block):
                place = places.setdefault(block.kind, len(kept))
                kept[place : place + 1] = [block]
                continue
            if not is_part(block):
                continue
        kept.append(block)
    return replace(outcome, content=tuple(kept))


def _metadata_last(outcome: Outcome) -> Outcome:
    def place(block: Block) -> int:
        return 1 + METADATA.index(block.kind) if isinstance(block, Other) and is_metadata(block) else 0

    return replace(outcome, content=tuple(sorted(outcome.content, key=place)))


def _without_malformed(outcome: Outcome) -> Outcome:
    wrong = [block for block in outcome.content if isinstance(block, ToolCall) and is_malformed(block)]
    outcome = keep_blocks(is_expressible)(outcome)
    if outcome.status == "complete" and wrong:
        return replace(outcome, status="error", error=malformed(wrong[0]), stop=Stop("error", MALFORMED))
    return outcome


# The end, and what was used.


def stop_word(stop: Stop, content: tuple[Block, ...]) -> tuple[str, StopReason]:
    """Return the `finishReason`, or the `blockReason` where nothing was answered, and what it means."""
    if is_blocked(stop) and not content:
        return stop.raw or "", "content_filter"
    word = WORDS.of(stop, called=False)
    return word, WORDS.meaning(word)


def is_blocked(stop: Stop) -> bool:
    """Whether a stop is that of a prompt, by a word that no answer ends with."""
    return stop.reason == "content_filter" and stop.raw in _BLOCKED


def counted(usage: Usage | None) -> Usage | None:
    """Return the usage with the counts that the api has: writes to the cache are input like any other."""
    if usage is None:
        return None
    told = [count for count in (usage.input, usage.cache_write) if count is not None]
    output = usage.output if usage.reasoning is None else max(usage.output or 0, usage.reasoning)
    counts = Usage(
        input=sum(told) if told else None,
        cache_read=usage.cache_read,
        output=output,
        reasoning=usage.reasoning,
    )
    return None if counts == Usage() else counts


def _failed(outcome: Outcome) -> Outcome:
    if outcome.status != "error":
        return outcome
    error = own_error(outcome.error or Error(None, None, None))
    word = error.type if is_finish(error) else None
    return replace(outcome, error=error, stop=Stop("error", word))


def _error_document(outcome: Outcome) -> Outcome:
    return outcome if outcome.status == "error" and is_finish(outcome.error) else error_alone(outcome)


def _usage(outcome: Outcome) -> Outcome:
    return replace(outcome, usage=counted(outcome.usage))


LOSSES: Final[tuple[Loss, ...]] = (
    COST,
    NAMES,
    REFUSALS,
    Loss("other", "a block without a common form that is not Gemini's", "left out", _own_others),
    Loss(
        "redacted",
        "redacted thinking",
        "left out; thinking that has text is unsigned",
        each_block(unredacted),
    ),
    Loss(
        "calls",
        "a call that was cut off, or that has no name; arguments that are no object",
        "left out; a complete answer with such arguments fails with `MALFORMED_FUNCTION_CALL`",
        _without_malformed,
    ),
    Loss("arguments-text", "the text of arguments", "the value", each_call(without_text)),
    Loss(
        "prose",
        "where a block of prose ends and another of its kind begins, and one without text",
        "one block, as there are none on the wire; left out",
        as_read,
    ),
    Loss(
        "metadata-place",
        "where in the content what is said of the candidate stands, in one document",
        "behind everything else",
        _metadata_last,
        forms=("document",),
    ),
    Loss(
        "stop",
        "other words for the end, a refusal, a pause",
        "the api's word; `SAFETY`; `OTHER`",
        stop_as(stop_word),
    ),
    Loss(
        "usage",
        "writes to the cache, counts of searches, and less output than reasoning",
        "input; left out; as much",
        _usage,
    ),
    Loss(
        "failed-document",
        "what there is of an answer that failed or broke off, in one document",
        "an error document, unless the failure is a reason to finish",
        _error_document,
        forms=("document",),
    ),
    Loss(
        "error",
        "other types of errors, one without message or HTTP status, and the word for the end before it",
        "the word that goes with the status, else `UNKNOWN`, which is the message too; 500; left out",
        _failed,
    ),
)
