"""The arguments of calls where an api sends them as text: what is to be written, and what then is read.

Events tell arguments as text, in fragments, and at the end as a value. The two are the same value where a
client is to run the call. Where they are not, an encoder has written the text already and cannot take it
back, so it makes sure that nobody runs what was not meant: behind `NO_JSON` no text is JSON. A client that
reads the beginning of a text as JSON is not kept from it by that, and has the word for the end to go by.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from streamconform_reference.encoding.encoder import FORMS, Form, Loss
from streamconform_reference.encoding.losses import Apply, Word, keep_blocks
from streamconform_reference.json_text import codec
from streamconform_reference.outcome import Block, Outcome, ToolCall

NO_JSON: Final = "{"
_TRUNCATING: Final = frozenset({"length", "content_filter"})


def parsed(text: str) -> tuple[bool, Any]:
    """Return whether the text could be run, and its value; blank text is `{}`."""
    if not text.strip():
        return True, {}
    try:
        return True, codec.loads_text(text)
    except codec.NotJsonError:
        return False, None


def ending_of(call: ToolCall, *, blank: bool = False) -> str:
    """Return what is written behind the text of a call that ends, so that it says what the call's value is.

    Arguments without text are their JSON. Blank text is that of `{}` as it is where `blank` says so.
    """
    text = call.arguments_text or ""
    runs, value = parsed(text)
    if text.strip() or call.arguments is None:
        return NO_JSON if runs and value != call.arguments else ""
    if blank and call.arguments_text is not None and call.arguments == {}:
        return ""
    return codec.dumps(call.arguments).decode()


def cut_ending_of(text: str) -> str:
    """Return what is written behind the text of a call that has to end without having ended."""
    return NO_JSON if parsed(text)[0] else ""


def each_call(change: Callable[[ToolCall], ToolCall]) -> Apply:
    """Return the function that changes every call of an outcome."""

    def apply(outcome: Outcome) -> Outcome:
        content = (change(block) if isinstance(block, ToolCall) else block for block in outcome.content)
        return replace(outcome, content=tuple(content))

    return apply


def with_text(*, blank: bool = False) -> Apply:
    """Return the function that gives every call a text; `blank` is as in `ending_of`."""

    def change(call: ToolCall) -> ToolCall:
        text = call.arguments_text or ""
        if call.complete and not text.strip():
            text += ending_of(call, blank=blank)
        return replace(call, arguments_text=text)

    return each_call(change)


def by_text(call: ToolCall) -> ToolCall:
    """Return a call whose text contradicts its value without arguments."""
    runs, value = parsed(call.arguments_text or "")
    if not call.complete or (runs and value == call.arguments):
        return call
    return replace(call, arguments=None, arguments_text=(call.arguments_text or "") + ending_of(call))


def without_text(call: ToolCall) -> ToolCall:
    """Return a call whose arguments are a value only."""
    return replace(call, arguments_text=None)


def ended(word: Word, *, by_block: bool) -> Apply:
    """Return the function that ends every call where the api has to end it.

    That is at the end of a complete answer, and with `by_block` also where another block follows. An api
    that is not `by_block` ends no call before its answer, and in a truncated one not the last call if that
    has no arguments.
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
            return _ended(block, ends=ends, completes=complete and not last, keeps=by_block or complete)

        content = tuple(change(index, block) for index, block in enumerate(outcome.content))
        return replace(outcome, content=content)

    return apply


def _ended(call: ToolCall, *, ends: bool, completes: bool, keeps: bool) -> ToolCall:
    text = call.arguments_text or ""
    if call.complete and keeps and parsed(text)[0]:
        return call
    ending = cut_ending_of(text) if ends and not call.complete else ""
    return replace(call, arguments=None, arguments_text=text + ending, complete=ends and completes)


def as_text(*, blank: bool = False, forms: tuple[Form, ...] = FORMS) -> Loss:
    """Return the row of arguments that are no text; `blank` is as in `ending_of`."""
    return Loss(
        "arguments-value",
        "arguments that came as a value, without text",
        "their JSON as text",
        with_text(blank=blank),
        forms,
    )


def contradicted(*, forms: tuple[Form, ...] = FORMS) -> Loss:
    """Return the row of arguments that are not what their text says."""
    return Loss(
        "arguments-contradicted",
        "arguments whose text is another value, or no JSON",
        "malformed: the text, made no JSON, and nobody may run the call",
        each_call(by_text),
        forms,
    )


def of_calls(word: Word) -> tuple[Loss, ...]:
    """Return the rows of an api whose streams have arguments as text, and its documents as values.

    One block ends before the next one begins; `word` is as in `ended`.
    """
    return (
        Loss(
            "unended-call",
            "a call that did not end, before another block or in an answer that is complete",
            "malformed: the text, made no JSON where it is any, and nobody may run the call",
            ended(word, by_block=True),
            forms=("stream",),
        ),
        Loss(
            "unended-call-whole",
            "a call that did not end or is malformed, in one document",
            "left out",
            keep_blocks(_has_value),
            forms=("document",),
        ),
        Loss(
            "arguments-text",
            "the text of arguments, in one document",
            "the value",
            each_call(without_text),
            forms=("document",),
        ),
    )


def _has_value(block: Block) -> bool:
    return not isinstance(block, ToolCall) or (block.complete and block.arguments is not None)
