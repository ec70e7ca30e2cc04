"""Arguments in APIs that send them as text: the text to write, and the value that a client reads.

Events contain arguments as text fragments and, at the end, as a value. For a call that a client may run, the
two agree. If they differ, the encoder has already written the text and cannot retract it, so it ensures that
the call is not executed: text followed by `UNPARSEABLE` can never be parsed. This does not stop a client that
parses a prefix of the text; such a client has to check the stop reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from streamconform_reference.encoding.encoder import FORMS, Form, Loss
from streamconform_reference.encoding.losses import Apply, StopEncoder, keep_blocks
from streamconform_reference.json_text import codec
from streamconform_reference.outcome import Block, Outcome, ToolCall

UNPARSEABLE: Final = "{"
_TRUNCATING: Final = frozenset({"length", "content_filter"})


def parse_arguments(text: str) -> tuple[bool, Any]:
    """Return whether the text can be executed, and its value; blank text is `{}`."""
    if not text.strip():
        return True, {}
    try:
        return True, codec.loads_text(text)
    except codec.NotJsonError:
        return False, None


def compute_ending(call: ToolCall, *, blank: bool = False) -> str:
    """Return the text to write after an ended call's fragments, so that the text matches its value.

    Arguments without text are written as JSON. With `blank`, blank text is not changed to `{}`.
    """
    text = call.arguments_text or ""
    runs, value = parse_arguments(text)
    if text.strip() or call.arguments is None:
        return UNPARSEABLE if runs and value != call.arguments else ""
    if blank and call.arguments_text is not None and call.arguments == {}:
        return ""
    return codec.dumps(call.arguments).decode()


def compute_cut_ending(text: str) -> str:
    """Return the text to write after an unfinished call's fragments if the API requires the call to end."""
    return UNPARSEABLE if parse_arguments(text)[0] else ""


def map_calls(change: Callable[[ToolCall], ToolCall]) -> Apply:
    """Return a function that changes every call in an outcome."""

    def apply(outcome: Outcome) -> Outcome:
        content = (change(block) if isinstance(block, ToolCall) else block for block in outcome.content)
        return replace(outcome, content=tuple(content))

    return apply


def _add_missing_text(*, blank: bool = False) -> Apply:
    """Return a function that gives every call an arguments text; for `blank`, see `compute_ending`."""

    def change(call: ToolCall) -> ToolCall:
        text = call.arguments_text or ""
        if call.complete and not text.strip():
            text += compute_ending(call, blank=blank)
        return replace(call, arguments_text=text)

    return map_calls(change)


def _drop_contradicted(call: ToolCall) -> ToolCall:
    """Return the call, without arguments if its text contradicts its value."""
    runs, value = parse_arguments(call.arguments_text or "")
    if not call.complete or (runs and value == call.arguments):
        return call
    return replace(call, arguments=None, arguments_text=(call.arguments_text or "") + compute_ending(call))


def drop_text(call: ToolCall) -> ToolCall:
    """Return the call with its arguments only as a value."""
    return replace(call, arguments_text=None)


def end_calls(word: StopEncoder, *, by_block: bool) -> Apply:
    """Return a function that ends every call that the API has to end.

    Calls end at the end of a complete answer and, with `by_block`, also before another block. Without
    `by_block`, no call ends before the answer does, and in a truncated answer, the last call does not end if
    it has no arguments.
    """

    def apply(outcome: Outcome) -> Outcome:
        calls = [index for index, block in enumerate(outcome.content) if isinstance(block, ToolCall)]
        complete = outcome.status == "complete"
        truncated = complete and word(outcome.stop, outcome.content)[1] in _TRUNCATING

        def change(index: int, block: Block) -> Block:
            if not isinstance(block, ToolCall):
                return block
            last = truncated and index == calls[-1]
            if by_block:
                ends = complete or index < len(outcome.content) - 1
            else:
                ends = complete and not (last and not (block.arguments_text or "").strip())
            return _end_call(block, ends=ends, completes=complete and not last, keeps=by_block or complete)

        content = tuple(change(index, block) for index, block in enumerate(outcome.content))
        return replace(outcome, content=content)

    return apply


def _end_call(call: ToolCall, *, ends: bool, completes: bool, keeps: bool) -> ToolCall:
    text = call.arguments_text or ""
    if call.complete and keeps and parse_arguments(text)[0]:
        return call
    ending = compute_cut_ending(text) if ends and not call.complete else ""
    return replace(call, arguments=None, arguments_text=text + ending, complete=ends and completes)


def make_text_row(*, blank: bool = False, forms: tuple[Form, ...] = FORMS) -> Loss:
    """Return the row for arguments without text; for `blank`, see `compute_ending`."""
    return Loss(
        "arguments-value",
        "arguments with a value but no text",
        "the value as JSON text",
        _add_missing_text(blank=blank),
        forms,
    )


def make_contradiction_row(*, forms: tuple[Form, ...] = FORMS) -> Loss:
    """Return the row for arguments that contradict their text."""
    return Loss(
        "arguments-contradicted",
        "arguments whose text is not JSON, or has a different value",
        "the text, changed to invalid JSON so that no client runs the call",
        map_calls(_drop_contradicted),
        forms,
    )


def make_call_rows(word: StopEncoder) -> tuple[Loss, ...]:
    """Return the rows for an API that sends arguments as text in streams, and as values in documents.

    In such an API, one block ends before the next one starts; for `word`, see `end_calls`.
    """
    return (
        Loss(
            "unended-call",
            "an unfinished call that is followed by another block, or is in a complete answer",
            "the text, changed to invalid JSON so that no client runs the call",
            end_calls(word, by_block=True),
            forms=("stream",),
        ),
        Loss(
            "unended-call-whole",
            "an unfinished or malformed call",
            "omitted",
            keep_blocks(_has_value),
            forms=("document",),
        ),
        Loss(
            "arguments-text",
            "the text of arguments",
            "the value",
            map_calls(drop_text),
            forms=("document",),
        ),
    )


def _has_value(block: Block) -> bool:
    return not isinstance(block, ToolCall) or (block.complete and block.arguments is not None)
