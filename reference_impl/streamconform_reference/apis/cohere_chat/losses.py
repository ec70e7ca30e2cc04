"""What Cohere Chat version 2 (version 1: `losses_v1`) cannot express, and the values used instead.

Source: https://docs.cohere.com/reference/chat-stream, https://docs.cohere.com/reference/chat-stream-v1
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from msgspec.structs import replace

from streamconform_reference.encoding.arguments_text import (
    UNPARSEABLE,
    compute_ending,
    end_calls,
    make_contradiction_row,
    make_text_row,
    map_calls,
)
from streamconform_reference.encoding.encoder import PLACEHOLDER, Loss
from streamconform_reference.encoding.losses import (
    COST,
    DOCUMENT_ERROR,
    OTHERS,
    PROVIDER_CALLS,
    REFUSALS,
    is_client_call,
    make_extras_row,
    map_blocks,
    map_error,
    map_stop,
)
from streamconform_reference.encoding.stop_words import StopReasons
from streamconform_reference.outcome import (
    Block,
    Citation,
    Error,
    Json,
    Outcome,
    Stop,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    Usage,
)

from .citations import read_citations
from .terminal import STOP_REASONS

STOP_WORDS: Final = StopReasons(
    STOP_REASONS,
    {
        "stop": "COMPLETE",
        "tool_use": "TOOL_CALL",
        "length": "MAX_TOKENS",
        "content_filter": "ERROR_TOXIC",
        "refusal": "ERROR_TOXIC",
    },
)
"""Version 2 has no reason for filtered content, but version 1's reason is at least never read as success."""
FAILED: Final = "ERROR"
_TIMED_OUT: Final = "TIMEOUT"
_NULL: Final = "null"


def is_own_citation(citation: Citation) -> bool:
    """Whether version 2 can express a citation."""
    is_own = isinstance(citation.data, dict) and "sources" in citation.data
    return is_own and citation in read_citations(citation.data)


def encode_stop(stop: Stop, content: tuple[Block, ...]) -> tuple[str, StopReason]:
    """Return the `finish_reason`, and what a client reads from it alone."""
    word = STOP_WORDS.of(stop, called=any(is_client_call(block) for block in content))
    return word, STOP_WORDS.meaning(word)


def encode_usage(usage: Usage | None) -> Usage:
    """Return the usage as billed: cache reads and writes count as input."""
    usage = usage or Usage()
    total = (usage.input or 0) + (usage.cache_read or 0) + (usage.cache_write or 0)
    return Usage(
        input=total, output=usage.output or 0, reasoning=usage.reasoning, web_searches=usage.web_searches
    )


def encode_error(error: Error) -> Error:
    """Return the error with a type, and without the HTTP status, for which events have no field."""
    return Error(error.type or FAILED, error.message or None, None)


def choose_failed_reason(error: Error, known: Collection[str] = STOP_REASONS) -> str:
    """Return the `finish_reason` of a failed answer; `known` contains the version's reasons."""
    return _TIMED_OUT if error.type == _TIMED_OUT and _TIMED_OUT in known else FAILED


def build_usage(usage: Usage | None) -> Json:
    """Return the billed counts, and the known counts that are not billed."""
    usage_counts = encode_usage(usage)
    counts = {"input_tokens": usage_counts.input, "output_tokens": usage_counts.output}
    searches = {} if usage_counts.web_searches is None else {"search_units": usage_counts.web_searches}
    reasoning = {} if usage_counts.reasoning is None else {"reasoning_tokens": usage_counts.reasoning}
    cached = {} if usage is None or usage.cache_read is None else {"cached_tokens": usage.cache_read}
    return {"billed_units": counts | searches, "tokens": counts | reasoning, **cached}


def compute_call_ending(call: ToolCall) -> str:
    """Return the text to write after a call's fragments; clients of this API read a lone `null` as `{}`."""
    text = (call.arguments_text or "") + compute_ending(call)
    return compute_ending(call) + (UNPARSEABLE if text.strip() == _NULL else "")


def _drop_names(outcome: Outcome) -> Outcome:
    return replace(outcome, model=None, response_id=outcome.response_id or PLACEHOLDER)


def _drop_signature(block: Block) -> Iterator[Block]:
    if isinstance(block, Thinking):
        yield Thinking(text=block.text, signature=None, redacted=False)
    else:
        yield block


def _break_null(call: ToolCall) -> ToolCall:
    if call.complete and (call.arguments_text or "").strip() == _NULL:
        return replace(call, arguments=None, arguments_text=f"{call.arguments_text}{UNPARSEABLE}")
    return call


def _drop_blank_text(call: ToolCall) -> ToolCall:
    return replace(call, arguments_text=call.arguments_text or None)


def _end_all_calls(outcome: Outcome) -> Outcome:
    return map_calls(_drop_blank_text)(end_calls(encode_stop, by_block=True)(outcome))


def _move_calls_last(outcome: Outcome) -> Outcome:
    def is_call(block: Block) -> bool:
        return isinstance(block, ToolCall)

    return replace(outcome, content=tuple(sorted(outcome.content, key=is_call)))


def _move_citations_to_last_text(outcome: Outcome) -> Outcome:
    citations = tuple(c for block in outcome.content if isinstance(block, Text) for c in block.citations)
    last = max((n for n, block in enumerate(outcome.content) if isinstance(block, Text)), default=None)
    content = [
        replace(block, citations=citations if number == last else ()) if isinstance(block, Text) else block
        for number, block in enumerate(outcome.content)
    ]
    return replace(outcome, content=tuple(content))


def _usage_at_the_end(outcome: Outcome) -> Outcome:
    complete = outcome.status == "complete"
    return replace(outcome, usage=encode_usage(outcome.usage) if complete else None)


def make_failure_row(known: Collection[str] = STOP_REASONS) -> Loss:
    """Return the row for failed answers; `known` contains the version's reasons."""

    def apply(outcome: Outcome) -> Outcome:
        if outcome.status != "error":
            return outcome
        error = encode_error(outcome.error or Error(None, None, None))
        return replace(outcome, error=error, stop=Stop("error", choose_failed_reason(error, known)))

    return Loss(
        "error",
        "the absence of an error's type; the HTTP status of an error; a stop reason before an error",
        "`ERROR` as the type and as the stop reason; the status is omitted",
        apply,
        forms=("stream",),
    )


def _drop_type(error: Error) -> Error:
    return Error(None, error.message or None, None)


USAGE: Final = Loss(
    "usage",
    "unknown input and output counts; cache reads and writes; the usage of an answer that failed or was "
    "cut off",
    "0 for unknown counts; cache reads and writes count as input; the usage of a failed answer is omitted",
    _usage_at_the_end,
)
NAMES: Final = Loss(
    "names", "an answer's model, and the absence of an id", f"omitted; `{PLACEHOLDER}`", _drop_names
)

LOSSES: Final[tuple[Loss, ...]] = (
    COST,
    NAMES,
    REFUSALS,
    make_extras_row(cites=is_own_citation),
    OTHERS,
    PROVIDER_CALLS,
    Loss(
        "signature",
        "the signature of thinking, and redacted thinking",
        "omitted",
        map_blocks(_drop_signature),
    ),
    Loss(
        "order",
        "the order of text and calls",
        "text first, then calls",
        _move_calls_last,
        forms=("document",),
    ),
    Loss(
        "cited-text",
        "which of several texts a citation belongs to",
        "the last text",
        _move_citations_to_last_text,
        forms=("document",),
    ),
    make_text_row(),
    make_contradiction_row(),
    Loss(
        "arguments-null",
        "`null` as the value of arguments, which clients of this API read as no arguments",
        "the text, changed to invalid JSON so that no client runs the call",
        map_calls(_break_null),
    ),
    Loss(
        "unended-call",
        "an unfinished call that is followed by another block, or is in a complete answer",
        "the text, changed to invalid JSON so that no client runs the call",
        _end_all_calls,
    ),
    Loss(
        "stop",
        "stop reasons that exist only in other APIs, filtered content, and a refusal",
        "the API's equivalent, which for filtered content and a refusal is `ERROR_TOXIC`; if there is "
        "none, the raw reason",
        map_stop(encode_stop),
    ),
    USAGE,
    make_failure_row(),
    DOCUMENT_ERROR,
    Loss(
        "document-error",
        "the type of an error",
        "omitted",
        map_error(_drop_type),
        forms=("document",),
    ),
)
