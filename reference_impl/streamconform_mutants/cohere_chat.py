"""Mutants that decode cohere-chat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Final

from streamconform_reference.apis.cohere_chat import v1, v2
from streamconform_reference.apis.cohere_chat.decode import CohereChatDecoder
from streamconform_reference.apis.cohere_chat.document import to_payloads
from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.json_text import codec
from streamconform_reference.outcome import Json

from .json_values import object_at
from .model import ARGUMENTS, ARGUMENTS_TEXT, CONTENT, ERROR, GIVES_UP, STOP_REASON, USAGE
from .registry import StreamMutants

mutants = StreamMutants("cohere-chat", CohereChatDecoder)

_FAILURES: Final = ("ERROR", "TIMEOUT")


@mutants.replace(
    "v2_handlers",
    "tool-call-delta",
    kind="arguments-lost",
    fails=(*CONTENT, "**:invariant.streaming", "**:invariant.ended-calls"),
)
def argument_fragments_lost(_stream: v2.V2Stream, _payload: Payload) -> None:
    """Reads the start and end of a tool call, but ignores all fragments of its arguments."""


@mutants.decoder(
    kind="other-counts",
    fails=USAGE,
)
class BilledUnitsIgnored(CohereChatDecoder):
    """Counts every token the model read and wrote, up to six times as many as are billed."""

    @staticmethod
    def unbilled(usage: Payload) -> Payload:
        return {**usage, "billed_units": usage.get("tokens")}

    @staticmethod
    def on_message_end(stream: v2.V2Stream, payload: Payload) -> None:
        delta = object_at(payload, "delta")
        usage = BilledUnitsIgnored.unbilled(object_at(delta, "usage"))
        v2.on_message_end(stream, {**payload, "delta": {**delta, "usage": usage}})

    @staticmethod
    def on_stream_end(stream: v1.V1Stream, payload: Payload) -> None:
        response = object_at(payload, "response")
        meta = BilledUnitsIgnored.unbilled(object_at(response, "meta"))
        v1.on_stream_end(stream, {**payload, "response": {**response, "meta": meta}})

    v2_handlers: ClassVar[Mapping[str, v2.Handler]] = {**v2.HANDLERS, "message-end": on_message_end}
    v1_handlers: ClassVar[Mapping[str, v1.Handler]] = {**v1.HANDLERS, "stream-end": on_stream_end}


@mutants.replace(
    "v2_handlers",
    "citation-start",
    kind="sources-lost",
    fails=("**:content.*.text.citations",),
)
def citations_ignored(_stream: v2.V2Stream, _payload: Payload) -> None:
    """Skips citation events, so an answer has no sources."""


@mutants.replace(
    "v2_handlers",
    "citation-start",
    kind="sources-lost",
    fails=("**:content.*.text.citations",),
)
def first_source_only(stream: v2.V2Stream, payload: Payload) -> None:
    """Reports only the first source of a citation."""
    delta = object_at(payload, "delta")
    message = object_at(delta, "message")
    citation = object_at(message, "citations")
    citation = {**citation, "sources": citation.get("sources", [])[:1]}
    payload = {**payload, "delta": {**delta, "message": {**message, "citations": citation}}}
    v2.HANDLERS["citation-start"](stream, payload)


@mutants.decoder(
    kind="failure-as-stop",
    fails=ERROR,
)
class FailedEndAsStop(CohereChatDecoder):
    """Treats the finish reasons ERROR and TIMEOUT as a normal end."""

    @staticmethod
    def succeeded(end: Payload) -> Payload:
        failed = end.get("finish_reason") in _FAILURES
        return {**end, "finish_reason": "COMPLETE", "error": None} if failed else end

    @staticmethod
    def on_message_end(stream: v2.V2Stream, payload: Payload) -> None:
        delta = FailedEndAsStop.succeeded(object_at(payload, "delta"))
        v2.on_message_end(stream, {**payload, "delta": delta})

    @staticmethod
    def on_stream_end(stream: v1.V1Stream, payload: Payload) -> None:
        v1.on_stream_end(stream, FailedEndAsStop.succeeded(payload))

    v2_handlers: ClassVar[Mapping[str, v2.Handler]] = {**v2.HANDLERS, "message-end": on_message_end}
    v1_handlers: ClassVar[Mapping[str, v1.Handler]] = {**v1.HANDLERS, "stream-end": on_stream_end}


@mutants.replace(
    "v1_handlers",
    "stream-end",
    kind="content-doubled",
    fails=CONTENT,
)
def final_text_doubled(stream: v1.V1Stream, payload: Payload) -> None:
    """Appends the complete text that the end of a v1 stream repeats."""
    response = object_at(payload, "response")
    text = response.get("text")
    if isinstance(text, str):
        stream.append_text(text)
    v1.on_stream_end(stream, {**payload, "response": {**response, "text": ""}})


@mutants.output(
    kind="failure-as-stop",
    fails=STOP_REASON,
)
def finish_reason_hardcoded(message: Json) -> None:
    """Reports `stop` for every answer, so calls are not run and truncation goes unnoticed."""
    holder = message.get("outcome", message)
    if holder.get("status") == "complete" or holder.get("type") == "done":
        holder["stop"]["reason"] = "stop"


@mutants.replace(
    "v2_handlers",
    "tool-call-end",
    kind="empty-arguments-lost",
    fails=(*ARGUMENTS, *ARGUMENTS_TEXT),
)
def no_parameters_as_null(stream: v2.V2Stream, payload: Payload) -> None:
    """Reports null as the arguments of a call without parameters."""
    slot = stream.find_slot("call", payload)
    if stream.message.text(slot).strip() in ("", "null"):
        stream.message.settle_arguments(slot, "null")
        stream.message.end(slot)
    v2.on_tool_call_end(stream, payload)


@mutants.replace(
    "v2_handlers",
    "content-delta",
    kind="thinking-lost",
    fails=(*CONTENT, "**:invariant.streaming"),
)
def thinking_delta_lost(stream: v2.V2Stream, payload: Payload) -> None:
    """Reads only the text of content deltas, so thinking is lost."""
    message = object_at(object_at(payload, "delta"), "message")
    if "thinking" not in object_at(message, "content"):
        v2.on_content_delta(stream, payload)


@mutants.decoder(
    kind="old-form-unread",
    fails=(*CONTENT, *STOP_REASON, "**:invariant.streaming"),
)
class V1CallsIgnored(CohereChatDecoder):
    """Reads only the text of a v1 stream, so its tool calls are never run."""

    @staticmethod
    def on_stream_end(stream: v1.V1Stream, payload: Payload) -> None:
        response = {
            key: value for key, value in object_at(payload, "response").items() if key != "tool_calls"
        }
        v1.on_stream_end(stream, {**payload, "response": response})

    v1_handlers: ClassVar[Mapping[str, v1.Handler]] = {
        **{kind: handler for kind, handler in v1.HANDLERS.items() if kind != "tool-calls-generation"},
        "tool-calls-chunk": v1.on_text,
        "stream-end": on_stream_end,
    }


@mutants.replace(
    "v1_handlers", "tool-calls-generation", kind="arguments-doubled", fails=(*ARGUMENTS, *CONTENT)
)
def whole_parameters_joined(stream: v1.V1Stream, payload: Payload) -> None:
    """Appends the whole parameters to the pieces of a v1 call."""
    for number, call in enumerate(payload["tool_calls"][: stream.calls]):
        slot = ("call", number)
        stream.message.add_arguments(slot, codec.dumps(call["parameters"]).decode())
        stream.message.end(slot)
    v1.on_tool_calls(stream, payload)


@mutants.document(kind="old-form-unread", fails=CONTENT)
def text_beside_the_message_unread(document: Payload) -> Iterator[Payload]:
    """Reads only the message of a non-streaming answer, so one of v1 is empty."""
    yield from to_payloads({**document, "text": ""} if "text" in document else document)


@mutants.refuse(kind="unknown-fatal", fails=GIVES_UP)
def citation_event_fatal(payload: Payload) -> bool:
    """Fails on an event about citations."""
    return "citation" in str(payload.get("type") or payload.get("event_type"))
