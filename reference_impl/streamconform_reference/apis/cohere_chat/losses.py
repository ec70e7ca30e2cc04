"""Losses of Cohere's chat, version 2 (`losses_v1`: 1), and the values that it uses instead.

Source: https://docs.cohere.com/reference/chat-stream, https://docs.cohere.com/reference/chat-stream-v1
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Final

from streamconform_reference.encoding.arguments_text import (
    NO_JSON,
    as_text,
    contradicted,
    each_call,
    ended,
    ending_of,
)
from streamconform_reference.encoding.encoder import NAMELESS, Loss
from streamconform_reference.encoding.losses import (
    COST,
    DOCUMENT_ERROR,
    PROVIDER_CALLS,
    REFUSALS,
    each_block,
    error_as,
    is_client_call,
    stop_as,
)
from streamconform_reference.encoding.stop_words import StopWords
from streamconform_reference.outcome import (
    Block,
    Error,
    Json,
    Other,
    Outcome,
    Refusal,
    Stop,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    Usage,
)

from .terminal import STOP_REASONS

WORDS: Final = StopWords(
    STOP_REASONS,
    {
        "stop": "COMPLETE",
        "tool_use": "TOOL_CALL",
        "length": "MAX_TOKENS",
        "content_filter": "ERROR_TOXIC",
        "refusal": "ERROR_TOXIC",
    },
)
"""Version 2 has no reason for filtered content; that of version 1 is at least never read as success."""
FAILED: Final = "ERROR"
TIMED_OUT: Final = "TIMEOUT"
_NULL: Final = "null"


def is_citation(other: Other) -> bool:
    """Whether a block is a citation of version 2, which belongs to the text before it."""
    return other.kind == "citation" and isinstance(other.data, dict) and "sources" in other.data


def stop_word(stop: Stop, content: tuple[Block, ...]) -> tuple[str, StopReason]:
    """Return the `finish_reason`, and its meaning by itself."""
    word = WORDS.of(stop, called=any(is_client_call(block) for block in content))
    return word, WORDS.meaning(word)


def counted(usage: Usage | None) -> Usage:
    """Return the usage as it is billed: cache reads and writes count as input."""
    usage = usage or Usage()
    total = (usage.input or 0) + (usage.cache_read or 0) + (usage.cache_write or 0)
    return Usage(
        input=total, output=usage.output or 0, reasoning=usage.reasoning, web_searches=usage.web_searches
    )


def own_error(error: Error) -> Error:
    """Return the error with a type, and without the HTTP status, which no event has."""
    return Error(error.type or FAILED, error.message or None, None)


def failed_word(error: Error, known: Collection[str] = STOP_REASONS) -> str:
    """Return the `finish_reason` of a failed answer; `known` are those of the version."""
    return TIMED_OUT if error.type == TIMED_OUT and TIMED_OUT in known else FAILED


def billed(usage: Usage | None) -> Json:
    """Return the billed counts, and the known ones that are not billed."""
    told = counted(usage)
    counts = {"input_tokens": told.input, "output_tokens": told.output}
    searches = {} if told.web_searches is None else {"search_units": told.web_searches}
    reasoning = {} if told.reasoning is None else {"reasoning_tokens": told.reasoning}
    cached = {} if usage is None or usage.cache_read is None else {"cached_tokens": usage.cache_read}
    return {"billed_units": counts | searches, "tokens": counts | reasoning, **cached}


def null_ending(call: ToolCall) -> str:
    """Return the text to write after a call's fragments; clients of this API read `null` alone as `{}`."""
    text = (call.arguments_text or "") + ending_of(call)
    return ending_of(call) + (NO_JSON if text.strip() == _NULL else "")


def _nameless(outcome: Outcome) -> Outcome:
    return replace(outcome, model=None, response_id=outcome.response_id or NAMELESS)


def _own_others(outcome: Outcome) -> Outcome:
    kept: list[Block] = []
    cites = False  # whether a citation would belong to the previous block
    for block in outcome.content:
        if isinstance(block, Other) and not (cites and is_citation(block)):
            cites = False
            continue
        cites = isinstance(block, (Other, Text, Refusal))
        kept.append(block)
    return replace(outcome, content=tuple(kept))


def _unsigned(block: Block) -> Iterator[Block]:
    if isinstance(block, Thinking):
        yield Thinking(text=block.text, signature=None, redacted=False)
    else:
        yield block


def _not_null(call: ToolCall) -> ToolCall:
    if call.complete and (call.arguments_text or "").strip() == _NULL:
        return replace(call, arguments=None, arguments_text=f"{call.arguments_text}{NO_JSON}")
    return call


def _without_blank(call: ToolCall) -> ToolCall:
    return replace(call, arguments_text=call.arguments_text or None)


def _ended(outcome: Outcome) -> Outcome:
    return each_call(_without_blank)(ended(stop_word, by_block=True)(outcome))


def _calls_behind(outcome: Outcome) -> Outcome:
    def place(block: Block) -> int:
        return 1 if isinstance(block, ToolCall) else 2 if isinstance(block, Other) else 0

    return replace(outcome, content=tuple(sorted(outcome.content, key=place)))


def _usage_at_the_end(outcome: Outcome) -> Outcome:
    complete = outcome.status == "complete"
    return replace(outcome, usage=counted(outcome.usage) if complete else None)


def failure(known: Collection[str] = STOP_REASONS) -> Loss:
    """Return the row for failed answers; `known` are the reasons of the version."""

    def apply(outcome: Outcome) -> Outcome:
        if outcome.status != "error":
            return outcome
        error = own_error(outcome.error or Error(None, None, None))
        return replace(outcome, error=error, stop=Stop("error", failed_word(error, known)))

    return Loss(
        "error",
        "an error without a type, the HTTP status of an error, and the stop reason before it",
        "`ERROR`, also as the stop reason; omitted",
        apply,
        forms=("stream",),
    )


def _untyped(error: Error) -> Error:
    return Error(None, error.message or None, None)


USAGE: Final = Loss(
    "usage",
    "unknown input or output counts, cache reads and writes, and the usage of an answer that failed or was "
    "cut off",
    "0; input; omitted",
    _usage_at_the_end,
)
NAMES: Final = Loss(
    "names", "the model of an answer, and an answer without an id", f"omitted; `{NAMELESS}`", _nameless
)

LOSSES: Final[tuple[Loss, ...]] = (
    COST,
    NAMES,
    REFUSALS,
    Loss(
        "other",
        "a block without a common form that is not Cohere's, and a citation not directly after text",
        "omitted",
        _own_others,
    ),
    PROVIDER_CALLS,
    Loss("signature", "the signature of thinking, and redacted thinking", "omitted", each_block(_unsigned)),
    Loss(
        "order",
        "the order of text, calls and citations, in one document",
        "the calls after the text, the citations after the calls",
        _calls_behind,
        forms=("document",),
    ),
    as_text(),
    contradicted(),
    Loss(
        "arguments-null",
        "the value `null` as arguments, which this API's clients read as none",
        "malformed: the text, made invalid JSON, so that no client runs the call",
        each_call(_not_null),
    ),
    Loss(
        "unended-call",
        "a call that did not end, before another block or in a complete answer",
        "malformed: the text, made invalid JSON, so that no client runs the call",
        _ended,
    ),
    Loss(
        "stop",
        "foreign stop reasons, filtered content, and a refusal",
        "the API's reason; `ERROR_TOXIC`; the raw reason if the API has none",
        stop_as(stop_word),
    ),
    USAGE,
    failure(),
    DOCUMENT_ERROR,
    Loss(
        "document-error",
        "the type of an error, in one document",
        "omitted",
        error_as(_untyped),
        forms=("document",),
    ),
)
