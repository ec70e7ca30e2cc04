"""What Cohere's chat cannot say, in version 2 and in version 1, and the words that it has instead.

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
"""Version 2 has no word for what a filter cut; that of version 1 is at least never taken for success."""
FAILED: Final = "ERROR"
TIMED_OUT: Final = "TIMEOUT"
_NULL: Final = "null"


def is_citation(other: Other) -> bool:
    """Whether a block is a citation as version 2 has it, which belongs to the text before it."""
    return other.kind == "citation" and isinstance(other.data, dict) and "sources" in other.data


def stop_word(stop: Stop, content: tuple[Block, ...]) -> tuple[str, StopReason]:
    """Return the `finish_reason`, and what it means by itself."""
    word = WORDS.of(stop, called=any(is_client_call(block) for block in content))
    return word, WORDS.meaning(word)


def counted(usage: Usage | None) -> Usage:
    """Return the usage as it is billed: what the cache has to do with is input like any other."""
    usage = usage or Usage()
    total = (usage.input or 0) + (usage.cache_read or 0) + (usage.cache_write or 0)
    return Usage(
        input=total, output=usage.output or 0, reasoning=usage.reasoning, web_searches=usage.web_searches
    )


def own_error(error: Error) -> Error:
    """Return the error with a type, and without the HTTP status that no event has."""
    return Error(error.type or FAILED, error.message or None, None)


def failed_word(error: Error, known: Collection[str] = STOP_REASONS) -> str:
    """Return the `finish_reason` of a failed answer, `known` by the version."""
    return TIMED_OUT if error.type == TIMED_OUT and TIMED_OUT in known else FAILED


def billed(usage: Usage | None) -> Json:
    """Return the counts, and of those that are not billed what is known."""
    told = counted(usage)
    counts = {"input_tokens": told.input, "output_tokens": told.output}
    searches = {} if told.web_searches is None else {"search_units": told.web_searches}
    reasoning = {} if told.reasoning is None else {"reasoning_tokens": told.reasoning}
    cached = {} if usage is None or usage.cache_read is None else {"cached_tokens": usage.cache_read}
    return {"billed_units": counts | searches, "tokens": counts | reasoning, **cached}


def null_ending(call: ToolCall) -> str:
    """Return what is written behind a call's text: `null` alone would be `{}` to readers of this api."""
    text = (call.arguments_text or "") + ending_of(call)
    return ending_of(call) + (NO_JSON if text.strip() == _NULL else "")


def _nameless(outcome: Outcome) -> Outcome:
    return replace(outcome, model=None, response_id=outcome.response_id or NAMELESS)


def _own_others(outcome: Outcome) -> Outcome:
    kept: list[Block] = []
    cites = False  # whether a citation would belong to what came last
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
    """Return the row of failed answers; `known` are the words of the version."""

    def apply(outcome: Outcome) -> Outcome:
        if outcome.status != "error":
            return outcome
        error = own_error(outcome.error or Error(None, None, None))
        return replace(outcome, error=error, stop=Stop("error", failed_word(error, known)))

    return Loss(
        "error",
        "an error without a type, the HTTP status of an error, and the word for the end before it",
        "`ERROR`, which is that word too; left out",
        apply,
        forms=("stream",),
    )


def _untyped(error: Error) -> Error:
    return Error(None, error.message or None, None)


USAGE: Final = Loss(
    "usage",
    "that input or output was not counted, what the cache has to do with, and the usage of an answer that "
    "failed or broke off",
    "0; input like any other; left out",
    _usage_at_the_end,
)
NAMES: Final = Loss(
    "names", "the name of the model, and an answer without a name", f"left out; `{NAMELESS}`", _nameless
)

LOSSES: Final[tuple[Loss, ...]] = (
    COST,
    NAMES,
    REFUSALS,
    Loss(
        "other",
        "a block without a common form that is not Cohere's, and a citation that is not right behind text",
        "left out",
        _own_others,
    ),
    PROVIDER_CALLS,
    Loss("signature", "the signature of thinking, and redacted thinking", "left out", each_block(_unsigned)),
    Loss(
        "order",
        "the order of text, calls and citations, in one document",
        "the calls behind the text, the citations behind the calls",
        _calls_behind,
        forms=("document",),
    ),
    as_text(),
    contradicted(),
    Loss(
        "arguments-null",
        "the value `null` as arguments, which this api's readers take for none",
        "malformed: the text, made no JSON, and nobody may run the call",
        each_call(_not_null),
    ),
    Loss(
        "unended-call",
        "a call that did not end, before another block or in an answer that is complete",
        "malformed: the text, made no JSON where it is any, and nobody may run the call",
        _ended,
    ),
    Loss(
        "stop",
        "other words for the end, what a filter cut, and a refusal",
        "the api's word; `ERROR_TOXIC`; the word that came where the api has none",
        stop_as(stop_word),
    ),
    USAGE,
    failure(),
    DOCUMENT_ERROR,
    Loss(
        "document-error",
        "the type of an error, in one document",
        "left out",
        error_as(_untyped),
        forms=("document",),
    ),
)
