"""What Ollama's chat cannot express, and the values written instead.

Source: https://docs.ollama.com/api/chat and https://github.com/ollama/ollama/blob/main/api/types.go
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from streamconform_reference.encoding.arguments_text import drop_text, map_calls
from streamconform_reference.encoding.encoder import PLACEHOLDER, Loss
from streamconform_reference.encoding.losses import (
    COST,
    DOCUMENT_ERROR,
    EMPTY_PROSE,
    FAILED_REASON,
    FIELD_ORDER,
    JOINED,
    OTHERS,
    PROVIDER_CALLS,
    REFUSALS,
    SIGNATURES,
    keep_blocks,
    make_extras_row,
    map_error,
    map_stop,
    map_usage,
)
from streamconform_reference.outcome import Block, Error, Outcome, Stop, StopReason, ToolCall, Usage

from .decode import STOP_REASONS

_LOADS: Final = frozenset({"load", "unload"})
_NO_WORDS: Final = "the provider gave no reason"


def is_whole(call: ToolCall) -> bool:
    """Whether a call can be written: it has ended, and its arguments are an object."""
    return call.complete and isinstance(call.arguments, dict)


def choose_stop_reason(stop: Stop) -> str:
    """Return the `done_reason`; it is `stop` after calls too."""
    if stop.reason == "other" and stop.raw in _LOADS:
        return stop.raw or ""
    return "length" if stop.reason == "length" else "stop"


def encode_stop(stop: Stop, _content: tuple[Block, ...]) -> tuple[str, StopReason]:
    """Return the `done_reason`, and its meaning."""
    word = choose_stop_reason(stop)
    return word, STOP_REASONS[word]


def encode_error(error: Error) -> Error:
    """Return the error with only its message."""
    return Error(None, error.message or error.type or _NO_WORDS, None)


def encode_usage(usage: Usage | None) -> Usage | None:
    """Return the counts that have fields: cache writes are part of the prompt."""
    if usage is None:
        return None
    prompt = usage.input if usage.cache_write is None else (usage.input or 0) + usage.cache_write
    known = Usage(input=prompt, cache_read=usage.cache_read, output=usage.output)
    return None if known == Usage() else known


def _names(outcome: Outcome) -> Outcome:
    return replace(outcome, model=outcome.model or PLACEHOLDER, response_id=None)


def _is_kept(block: Block) -> bool:
    return not isinstance(block, ToolCall) or is_whole(block)


LOSSES: Final[tuple[Loss, ...]] = (
    COST,
    Loss("names", "an answer's id, and the absence of a model", f"omitted; `{PLACEHOLDER}`", _names),
    REFUSALS,
    SIGNATURES,
    make_extras_row(),
    OTHERS,
    PROVIDER_CALLS,
    Loss(
        "unwritten-call",
        "an unfinished call, or one whose arguments are not an object",
        "omitted",
        keep_blocks(_is_kept),
    ),
    Loss("arguments-text", "the text of arguments", "the object", map_calls(drop_text)),
    EMPTY_PROSE,
    FIELD_ORDER,
    JOINED,
    Loss(
        "stop",
        "the stop reason, except `length`",
        "`stop`; clients recognize tool use by the calls in the content",
        map_stop(encode_stop),
    ),
    Loss(
        "usage",
        "reasoning, web search and cache write counts; the usage of an answer that failed or was cut off",
        "cache writes count as input; the others are omitted",
        map_usage(encode_usage),
    ),
    FAILED_REASON,
    DOCUMENT_ERROR,
    Loss(
        "error",
        "an error's type and HTTP status",
        "only the message, or the type if there is no message",
        map_error(encode_error),
    ),
)
