"""OpenAI Responses: server-sent events in, events and the outcome out.

Source: https://platform.openai.com/docs/api-reference/responses-streaming and the types in the `openai`
package (3.54.0).

Undocumented behavior, and differences between servers:

- The payload's `type` decides. Some servers append `[DONE]`; llama.cpp repeats `response.created`.
- Items are found by `output_index`; see `items`. Text for an unknown item or part starts it; arguments for an
  unknown call wait for an event that names the call.
- Text repeated in `*.done` events and finished items adds only the part that the deltas omitted,
  which is everything if a server sends no deltas. Text that contradicts its deltas stays as streamed, because
  emitted events cannot be retracted, but arguments are taken from `done`. GitHub Copilot streams arguments as
  ciphertext deltas and sends the plain text in `done`.
- Complete arguments in `output_item.added` are replaced by the fragments, not doubled; partial ones are the
  first fragment.
- A call ends with its `arguments.done`, unless that is empty and there were no fragments; with its
  `output_item.done`, unless that is `incomplete`; or with `response.completed`.
- Progress events of hosted tools are ignored. Partial images are left out.
- An error may be flat, nested, without a type, or only in `response.failed`. Everything after the first error
  is ignored.
- On a WebSocket, events of other lanes are ignored; an error without a lane is the connection's. Steering is
  answered by events of its own, whose errors are not the response's. Another response may follow the end.
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
    ResponseState,
    add_citation,
    add_thinking,
    begin_item,
    finish_item,
    identify,
    settle_call,
    settle_part,
    settle_thinking,
    use_part,
)
from .calls import CALLS
from .items import Family, Item
from .terminal import ERROR_TYPES, finish_response

Handler = Callable[[ResponseState, Payload], None]


# Events of the response and its items.


def on_begin(answer: ResponseState, payload: Payload) -> None:
    """Read id and model."""
    identify(answer, fields.require_object(payload, "response"))


def on_end(answer: ResponseState, payload: Payload, status: str) -> None:
    """Read the finished response; this is the terminal event."""
    finish_response(answer, fields.require_object(payload, "response"), status)


def on_error(answer: ResponseState, payload: Payload) -> None:
    """End the answer with the provider's error; the HTTP status was 200."""
    answer.message.fail(read_error(payload, type_keys=ERROR_TYPES))


def on_item_added(answer: ResponseState, payload: Payload) -> None:
    """Start an item, unless the event is a repetition."""
    data, index = _item(payload), fields.read_index(payload, "output_index")
    if answer.items.find_for_start(index, data) is None:
        begin_item(answer, index, data)


def on_item_done(answer: ResponseState, payload: Payload) -> None:
    """Read a finished item; this may be the item's only event."""
    data, index = _item(payload), fields.read_index(payload, "output_index")
    item = answer.items.find_for_end(index, data) or begin_item(answer, index, data)
    finish_item(answer, item, data)


# Parts of messages.


def on_part_added(answer: ResponseState, payload: Payload) -> None:
    """Start a part."""
    part = fields.require_object(payload, "part")
    kind = fields.read_text(part, "type")
    if kind in REASONING_PARTS:
        return
    item = _find(answer, payload, "message")
    index = fields.read_index(payload, "content_index")
    index = item.content_index + 1 if index is None else index
    repeated = index == item.content_index
    item.content_index = index
    if kind in PROSE:
        prose, key = PROSE[kind]
        if not repeated and not answer.message.text(use_part(item, index)):
            answer.message.start(
                use_part(item, index), prose, fields.read_text(part, key), phase=item.phase or None
            )
    else:
        settle_part(answer, item, index, part)


def on_part_done(answer: ResponseState, payload: Payload) -> None:
    """Read a complete part, and end it if it has content."""
    part = fields.require_object(payload, "part")
    family: Family = "reasoning" if fields.read_text(part, "type") in REASONING_PARTS else "message"
    item = _find(answer, payload, family)
    index = _content_index(item, payload)
    settle_part(answer, item, index, part)
    slot = use_part(item, index)
    if answer.message.text(slot) or answer.message.other(slot) is not None:
        answer.message.end(slot)


def on_prose_delta(answer: ResponseState, payload: Payload, kind: ProseKind) -> None:
    """Append to a part."""
    item = _find(answer, payload, "message")
    index = payload.get("content_index")
    if type(index) is not int:
        index = _content_index(item, payload)
    slot = use_part(item, index)
    answer.message.add(slot, kind, fields.read_text(payload, "delta"))
    answer.message.set_phase(slot, item.phase)


def on_prose_done(answer: ResponseState, payload: Payload, kind: ProseKind, key: str) -> None:
    """Read the complete text of a part."""
    item = _find(answer, payload, "message")
    slot = use_part(item, _content_index(item, payload))
    answer.message.settle(slot, kind, fields.read_text(payload, key))


def on_annotation(answer: ResponseState, payload: Payload) -> None:
    """Append a citation."""
    item = _find(answer, payload, "message")
    add_citation(answer, item, _content_index(item, payload), payload.get("annotation"))


# Parts of reasoning.


def on_thinking_delta(answer: ResponseState, payload: Payload, part: str, number: str) -> None:
    """Append to a reasoning part."""
    item = _find(answer, payload, "reasoning")
    delta: Any = payload.get("delta")
    fragment = fields.read_text(delta if isinstance(delta, dict) else {"text": delta}, "text")
    add_thinking(answer, item, (part, fields.read_index(payload, number) or 0), fragment)


def on_thinking_done(answer: ResponseState, payload: Payload, part: str, number: str) -> None:
    """Read the complete text of a reasoning part."""
    item = _find(answer, payload, "reasoning")
    settle_thinking(
        answer, item, (part, fields.read_index(payload, number) or 0), fields.read_text(payload, "text")
    )


def on_summary_part(answer: ResponseState, payload: Payload) -> None:
    """Read a complete summary part, which is empty when it starts."""
    on_thinking_done(
        answer, {**payload, **fields.require_object(payload, "part")}, "summary", "summary_index"
    )


# Arguments.


def on_arguments_delta(answer: ResponseState, payload: Payload) -> None:
    """Append a fragment."""
    item = answer.items.find_for_event(payload, "call")
    if item is not None:
        answer.message.add_arguments(item, fields.read_text(payload, "delta"))


def on_arguments_done(answer: ResponseState, payload: Payload, key: str) -> None:
    """Read the complete arguments; end the call unless they are free text.

    Truncated free text ends like any other; only the status of the finished item shows that it was cut off.
    """
    item = answer.items.find_for_event(payload, "call")
    if item is None:
        return
    arguments = payload.get(key)
    settle_call(answer, item, arguments)
    if (arguments or answer.message.text(item)) and not CALLS[item.kind].free_text:
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
    # The names of the previous two events in the API's first releases; some servers still use them.
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
        """Initialize the state that is kept between payloads."""
        self.answer = ResponseState(self.message)

    def read(self, payload: Payload) -> None:
        """Read one payload; unknown types, and events of other lanes, are ignored."""
        kind, lane = payload.get("type"), payload.get("stream_id")
        if lane != self.lane and (lane is not None or kind != "error"):
            return
        if kind is None and payload.get("error") is not None:
            kind = "error"  # some servers send the error object without a type
        handler = self.handlers.get(kind) if isinstance(kind, str) else None
        if handler:
            handler(self.answer, payload)


def _item(payload: Payload) -> Payload:
    item = fields.require_object(payload, "item")
    if not isinstance(item.get("type"), str):
        raise BrokenPayloadError("an output item has no type")
    return item


def _find(answer: ResponseState, payload: Payload, family: Family) -> Item:
    """Return the item that the event belongs to; start it if it is unknown."""
    item = answer.items.find_for_event(payload, family)
    return item or answer.items.add(family, fields.read_index(payload, "output_index"))


def _content_index(item: Item, payload: Payload) -> int:
    """Return the index of the part that the event belongs to, by default that of the latest part."""
    index = fields.read_index(payload, "content_index")
    return max(item.content_index, 0) if index is None else index
