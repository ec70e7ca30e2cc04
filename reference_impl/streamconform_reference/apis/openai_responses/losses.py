"""What OpenAI Responses cannot express, and the values written instead.

Source: https://platform.openai.com/docs/api-reference/responses/object and the types in the `openai` package
(3.54.0).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from streamconform_reference.encoding.arguments_text import (
    compute_cut_ending,
    make_contradiction_row,
    make_text_row,
    map_calls,
    parse_arguments,
)
from streamconform_reference.encoding.encoder import Loss, is_free_text
from streamconform_reference.encoding.losses import (
    COST,
    DOCUMENT_ERROR,
    NAMES,
    filter_others,
    keep_blocks,
    make_extras_row,
    map_blocks,
    map_error,
    map_stop,
)
from streamconform_reference.outcome import (
    Block,
    Citation,
    Error,
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

from .answer import CITATIONS
from .calls import CALLS, read_call_id
from .terminal import INCOMPLETE_REASONS

_ANNOTATIONS: Final = frozenset({"url_citation", "file_citation", "container_file_citation", "file_path"})
# Complete items that are not a message, reasoning or a call.
ITEMS: Final = frozenset(
    [
        "additional_tools",
        "apply_patch_call_output",
        "compaction",
        "computer_call_output",
        "custom_tool_call_output",
        "function_call_output",
        "local_shell_call_output",
        "mcp_approval_request",
        "mcp_list_tools",
        "program",
        "program_output",
        "shell_call_output",
        "tool_search_output",
    ]
)
_OWN_WORDS: Final = {reason: word for word, reason in INCOMPLETE_REASONS.items()}
COMPLETED: Final = "completed"
CUT: Final = _OWN_WORDS["length"]
_FAILED: Final = "failed"
_SERVER_ERROR: Final = "server_error"


# The API's own `other` blocks.


def is_own_citation(citation: Citation) -> bool:
    """Whether a citation has the API's own form, with its fields next to its type, not nested under it."""
    data = citation.data
    kind = data.get("type") if isinstance(data, dict) else None
    return kind in _ANNOTATIONS and kind not in data and CITATIONS.read(data) == citation


def is_item(other: Other) -> bool:
    """Whether a block is an item of the API but not a call."""
    return other.kind in ITEMS and _is_of_kind(other)


def is_hosted_call(other: Other) -> bool:
    """Whether a block is a finished call to a tool that OpenAI runs, with its query and its results."""
    form = CALLS.get(other.kind)
    return form is not None and _is_of_kind(other) and form.executor(other.data, ()) == "provider"


def _is_of_kind(other: Other) -> bool:
    data = other.data
    return isinstance(data, dict) and data.get("type") == other.kind and isinstance(data.get("id"), str)


def _pair_hosted_calls(outcome: Outcome) -> Outcome:
    """Return the outcome with every hosted call directly before its result, or removed."""
    calls: dict[str, ToolCall] = {}
    content: list[Block] = []
    for block in outcome.content:
        if isinstance(block, ToolCall) and block.executor == "provider":
            calls[block.id] = block
        elif not (isinstance(block, Other) and is_hosted_call(block)):
            content.append(block)
        elif call := calls.pop(read_call_id(block.data), None):
            content += (call, block)
    return replace(outcome, content=tuple(content))


def _is_own(other: Other) -> bool:
    return is_item(other) or is_hosted_call(other)


# Thinking and calls.


def _drop_redaction(block: Block) -> Iterator[Block]:
    """Yield the block; redacted thinking becomes reasoning without a summary."""
    yield replace(block, redacted=False) if isinstance(block, Thinking) else block


def has_text(block: Block) -> bool:
    """Whether a block is worth writing; false for a text or refusal without text or citations."""
    if isinstance(block, Text):
        return bool(block.text or block.citations)
    return not isinstance(block, Refusal) or bool(block.text)


def _limit_to_functions(loss: Loss) -> Loss:
    """Return a row that applies only to function calls; calls to other tools are unchanged."""

    def apply(outcome: Outcome) -> Outcome:
        changed = zip(outcome.content, loss.apply(outcome).content, strict=True)
        hosted = (
            isinstance(old, ToolCall) and (old.executor == "provider" or is_free_text(old))
            for old in outcome.content
        )
        content = (old if keep else new for keep, (old, new) in zip(hosted, changed, strict=True))
        return replace(outcome, content=tuple(content))

    return replace(loss, apply=apply)


def _end_calls_as_answer(outcome: Outcome) -> Outcome:
    """Return the outcome with each call adjusted to the end of the answer; truncated calls stay open."""
    complete = outcome.status == "complete"
    cut = complete and _encode_stop(outcome.stop, outcome.content)[0] != COMPLETED
    truncated = cut and _encode_stop(outcome.stop, outcome.content)[1] in ("length", "content_filter")
    calls = [block for block in outcome.content if isinstance(block, ToolCall)]

    def change(call: ToolCall) -> ToolCall:
        if call.executor == "provider":
            return call
        text = call.arguments_text or ""
        if call.complete:
            present = not complete or (truncated and call is calls[-1])
            runs = is_free_text(call) or parse_arguments(text)[0]
            return call if runs or not present else replace(call, complete=False)
        if complete and not cut:
            return replace(call, complete=True, arguments_text=text + compute_cut_ending(text))
        return replace(call, arguments_text=text or None)

    return map_calls(change)(outcome)


# Stop reason and usage.


def encode_stop(stop: Stop, *, refused: bool) -> tuple[str, StopReason]:
    """Return the status (if incomplete, the reason), and the stop reason that a client reads from it alone.

    The API marks a refusal with a dedicated part type, and has no stop reason for a pause. An unknown reason
    is written unchanged: a client also treats it as unknown, never as success.
    """
    match stop.reason:
        case "stop" | "tool_use":
            return COMPLETED, "stop"
        case "refusal":
            return (COMPLETED, "stop") if refused else (_OWN_WORDS["content_filter"], "content_filter")
        case "length" | "content_filter":
            return _OWN_WORDS[stop.reason], stop.reason
        case _:
            raw = stop.raw or stop.reason or "other"
            return raw, INCOMPLETE_REASONS.get(raw, "other")


def _encode_stop(stop: Stop, content: tuple[Block, ...]) -> tuple[str, StopReason]:
    refused = any(isinstance(block, Refusal) and block.text for block in content)
    return encode_stop(stop, refused=refused)


def encode_error(error: Error) -> Error:
    """Return the error with a code, and without the HTTP status, for which events have no field."""
    return Error(error.type or _SERVER_ERROR, error.message, None)


def _set_failed_reason(outcome: Outcome) -> Outcome:
    """Return a failed outcome with the status of a failed response."""
    return replace(outcome, stop=Stop("error", _FAILED)) if outcome.status == "error" else outcome


def _encode_outcome_usage(outcome: Outcome) -> Outcome:
    """Return the outcome with its totals filled in if it is complete, and without usage otherwise."""
    if outcome.status != "complete":
        return replace(outcome, usage=None)
    usage_counts = outcome.usage or Usage()
    usage = replace(
        usage_counts, input=usage_counts.input or 0, output=usage_counts.output or 0, cache_write_1h=None
    )
    return replace(outcome, usage=usage)


LOSSES: Final[tuple[Loss, ...]] = (
    COST,
    NAMES,
    make_extras_row(kept=("text.phase",), cites=is_own_citation),
    Loss(
        "other",
        "a provider-specific block from another provider",
        "omitted",
        filter_others(_is_own),
    ),
    Loss(
        "hosted-calls",
        "other content between a call that the provider ran and its result",
        "the call directly before its result, or no call if this API has no such result",
        _pair_hosted_calls,
    ),
    Loss(
        "redacted",
        "the fact that thinking is redacted",
        "thinking without text, which any OpenAI model may produce",
        map_blocks(_drop_redaction),
    ),
    Loss(
        "empty-text",
        "an empty text or refusal block",
        "omitted",
        keep_blocks(has_text),
        forms=("document",),
    ),
    _limit_to_functions(make_text_row()),
    _limit_to_functions(make_contradiction_row()),
    Loss(
        "unended-call",
        "an unfinished call in an answer that was not truncated",
        "the text, changed to invalid JSON so that no client runs the call",
        _end_calls_as_answer,
    ),
    Loss(
        "stop",
        "stop reasons that exist only in other APIs, a pause, and a refusal without text",
        "`completed`, or the reason of an incomplete response: the API's equivalent, otherwise the raw "
        "reason",
        map_stop(_encode_stop),
    ),
    Loss(
        "usage",
        "unknown input and output counts; one-hour cache writes; the usage of an answer that failed or "
        "was cut off",
        "0 for unknown counts; one-hour writes count as plain cache writes; the usage of a failed answer "
        "is omitted",
        _encode_outcome_usage,
    ),
    Loss(
        "failed-word",
        "stop reasons that exist only in other APIs, before an error",
        "`failed`",
        _set_failed_reason,
        forms=("stream",),
    ),
    DOCUMENT_ERROR,
    Loss(
        "error",
        "the absence of an error's type, and the HTTP status of an error",
        "`server_error` as the type; the status is omitted",
        map_error(encode_error),
    ),
)
