"""OpenAI Responses: server-sent events in, events and the outcome out.

Source: https://platform.openai.com/docs/api-reference/responses-streaming and the types of the
`openai` package 3.54.0.

What the documentation does not say, and what differs between servers:

- The payload's `type` decides. Some servers append `[DONE]`; llama.cpp repeats `response.created`.
- Items are found by `output_index`, see `items`. Text for an item or a part that never began begins
  it; arguments wait for an event that names their call.
- What `*.done` events and finished items repeat adds what the deltas left out: all, where a server
  sends no deltas. Text that contradicts its deltas stays as it was streamed, because events cannot
  be unsaid; arguments are those of `done`. GitHub Copilot streams ciphertext as deltas of arguments
  and the plain text in `done`.
- Arguments in `output_item.added` that are whole are replaced by the fragments, not doubled; else
  they are the first fragment.
- A call ends with its `arguments.done`, unless that is empty after no fragment, with its
  `output_item.done`, unless that says `incomplete`, or with `response.completed`.
- Events about the progress of hosted tools change nothing. Partial images are left out.
- An error may be flat, nested, without a type, or only in `response.failed`. After the first one
  nothing counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, Final

from streamconform_reference.decoding import fields
from streamconform_reference.decoding.decoder import BrokenPayloadError, Decoder, Payload
from streamconform_reference.decoding.provider_errors import read_error
from streamconform_reference.framing import Framing
from streamconform_reference.framing.sse import SseFraming
from streamconform_reference.outcome import ProseKind

from .answer import (
    PROSE,
    REASONING_PARTS,
    Answer,
    add_thinking,
    begin_item,
    cite,
    finish_item,
    identify,
    settle_call,
    settle_part,
    settle_thinking,
    slot_of_part,
)
from .items import Family, Item
from .terminal import ERROR_TYPES, finish

Handler = Callable[[Answer, Payload], None]


# The response and its items.


def on_begin(answer: Answer, payload: Payload) -> None:
    """Take id and model."""
    identify(answer, fields.part(payload, "response"))


def on_end(answer: Answer, payload: Payload, status: str) -> None:
    """Take the finished response: this is the terminal signal."""
    finish(answer, fields.part(payload, "response"), status)


def on_error(answer: Answer, payload: Payload) -> None:
    """End the answer with the provider's error; the HTTP status was 200 by then."""
    answer.message.fail(read_error(payload, type_keys=ERROR_TYPES))


def on_item_added(answer: Answer, payload: Payload) -> None:
    """Begin an item, unless it is the repetition of one."""
    data, index = _item(payload), fields.index(payload, "output_index")
    if answer.items.of_start(index, data) is None:
        begin_item(answer, index, data)


def on_item_done(answer: Answer, payload: Payload) -> None:
    """Take a finished item, which may be all that comes of it."""
    data, index = _item(payload), fields.index(payload, "output_index")
    item = answer.items.of_end(index, data) or begin_item(answer, index, data)
    finish_item(answer, item, data)


# Parts of messages.


def on_part_added(answer: Answer, payload: Payload) -> None:
    """Begin a part."""
    part = fields.part(payload, "part")
    kind = fields.text(part, "type")
    if kind in REASONING_PARTS:
        return
    item = _find(answer, payload, "message")
    index = fields.index(payload, "content_index")
    index = item.content_index + 1 if index is None else index
    repeated = index == item.content_index
    item.content_index = index
    if kind in PROSE:
        prose, key = PROSE[kind]
        if not repeated and not answer.message.text(slot_of_part(item, index)):
            answer.message.start(slot_of_part(item, index), prose, fields.text(part, key))
    else:
        settle_part(answer, item, index, part)


def on_part_done(answer: Answer, payload: Payload) -> None:
    """Take a part as a whole, and end it if it shows anything."""
    part = fields.part(payload, "part")
    family: Family = "reasoning" if fields.text(part, "type") in REASONING_PARTS else "message"
    item = _find(answer, payload, family)
    index = _content_index(item, payload)
    settle_part(answer, item, index, part)
    slot = slot_of_part(item, index)
    if answer.message.text(slot) or answer.message.other(slot) is not None:
        answer.message.end(slot)


def on_prose_delta(answer: Answer, payload: Payload, kind: ProseKind) -> None:
    """Append to a part."""
    item = _find(answer, payload, "message")
    index = payload.get("content_index")
    if type(index) is not int:
        index = _content_index(item, payload)
    answer.message.add((item, index), kind, fields.text(payload, "delta"))


def on_prose_done(answer: Answer, payload: Payload, kind: ProseKind, key: str) -> None:
    """Take the whole text of a part."""
    item = _find(answer, payload, "message")
    slot = slot_of_part(item, _content_index(item, payload))
    answer.message.settle(slot, kind, fields.text(payload, key))


def on_annotation(answer: Answer, payload: Payload) -> None:
    """Append a citation."""
    item = _find(answer, payload, "message")
    cite(answer, item, _content_index(item, payload), payload.get("annotation"))


# Parts of reasoning.


def on_thinking_delta(answer: Answer, payload: Payload, part: str, number: str) -> None:
    """Append to a part of the reasoning."""
    item = _find(answer, payload, "reasoning")
    delta: Any = payload.get("delta")
    words = fields.text(delta if isinstance(delta, dict) else {"text": delta}, "text")
    add_thinking(answer, item, (part, fields.index(payload, number) or 0), words)


def on_thinking_done(answer: Answer, payload: Payload, part: str, number: str) -> None:
    """Take the whole text of a part of the reasoning."""
    item = _find(answer, payload, "reasoning")
    settle_thinking(answer, item, (part, fields.index(payload, number) or 0), fields.text(payload, "text"))


def on_summary_part(answer: Answer, payload: Payload) -> None:
    """Take a part of the summary as a whole; it is empty when it begins."""
    on_thinking_done(answer, {**payload, **fields.part(payload, "part")}, "summary", "summary_index")


# Arguments.


def on_arguments_delta(answer: Answer, payload: Payload) -> None:
    """Append a fragment."""
    item = answer.items.of_event(payload, "call")
    if item is not None:
        answer.message.add_arguments(item, fields.text(payload, "delta"))


def on_arguments_done(answer: Answer, payload: Payload, key: str) -> None:
    """Take the whole arguments, and end the call."""
    item = answer.items.of_event(payload, "call")
    if item is None:
        return
    arguments = payload.get(key)
    settle_call(answer, item, arguments)
    if arguments or answer.message.text(item):
        answer.message.end(item)


HANDLERS: Final[Mapping[str, Handler]] = {
    "response.created": on_begin,
    "response.queued": on_begin,
    "response.in_progress": on_begin,
    "response.completed": partial(on_end, status="completed"),
    "response.incomplete": partial(on_end, status="incomplete"),
    "response.failed": partial(on_end, status="failed"),
    "error": on_error,
    "response.output_item.added": on_item_added,
    "response.output_item.done": on_item_done,
    "response.content_part.added": on_part_added,
    "response.content_part.done": on_part_done,
    "response.output_text.delta": partial(on_prose_delta, kind="text"),
    "response.output_text.done": partial(on_prose_done, kind="text", key="text"),
    "response.output_text.annotation.added": on_annotation,
    "response.refusal.delta": partial(on_prose_delta, kind="refusal"),
    "response.refusal.done": partial(on_prose_done, kind="refusal", key="refusal"),
    "response.reasoning_summary_part.added": on_summary_part,
    "response.reasoning_summary_part.done": on_summary_part,
    "response.reasoning_summary_text.delta": partial(
        on_thinking_delta, part="summary", number="summary_index"
    ),
    "response.reasoning_summary_text.done": partial(on_thinking_done, part="summary", number="summary_index"),
    "response.reasoning_text.delta": partial(on_thinking_delta, part="content", number="content_index"),
    "response.reasoning_text.done": partial(on_thinking_done, part="content", number="content_index"),
    # As the previous ones were called in the first releases, and still are on some servers.
    "response.reasoning.delta": partial(on_thinking_delta, part="content", number="content_index"),
    "response.reasoning.done": partial(on_thinking_done, part="content", number="content_index"),
    "response.function_call_arguments.delta": on_arguments_delta,
    "response.function_call_arguments.done": partial(on_arguments_done, key="arguments"),
    "response.mcp_call_arguments.delta": on_arguments_delta,
    "response.mcp_call_arguments.done": partial(on_arguments_done, key="arguments"),
    "response.custom_tool_call_input.delta": on_arguments_delta,
    "response.custom_tool_call_input.done": partial(on_arguments_done, key="input"),
    "response.code_interpreter_call_code.delta": on_arguments_delta,
    "response.code_interpreter_call_code.done": partial(on_arguments_done, key="code"),
}


class OpenaiResponsesDecoder(Decoder):
    """Decodes one response of `POST /v1/responses` with `"stream": true`."""

    framing_factory: ClassVar[Callable[[], Framing]] = SseFraming
    handlers: ClassVar[Mapping[str, Handler]] = HANDLERS

    def begin(self) -> None:
        """Set what is remembered between payloads."""
        self.answer = Answer(self.message)

    def read(self, payload: Payload) -> None:
        """Read one payload; one of an unknown type changes nothing."""
        kind = payload.get("type")
        if kind is None and payload.get("error") is not None:
            kind = "error"  # some servers send the error alone
        handler = self.handlers.get(kind) if isinstance(kind, str) else None
        if handler:
            handler(self.answer, payload)


def _item(payload: Payload) -> Payload:
    item = fields.part(payload, "item")
    if not isinstance(item.get("type"), str):
        raise BrokenPayloadError("an output item has no type")
    return item


def _find(answer: Answer, payload: Payload, family: Family) -> Item:
    """Return the item that the event is about; one that never began begins without a word."""
    found = answer.items.of_event(payload, family)
    return found or answer.items.add(family, fields.index(payload, "output_index"))


def _content_index(item: Item, payload: Payload) -> int:
    """Return the part that the event is about: without a number the last one that began."""
    index = fields.index(payload, "content_index")
    return max(item.content_index, 0) if index is None else index
