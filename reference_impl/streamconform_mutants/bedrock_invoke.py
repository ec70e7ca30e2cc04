"""Mutants that decode bedrock-invoke."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from streamconform_reference.apis.anthropic_messages.decode import (
    on_content_block_delta,
    on_message_delta,
    on_message_start,
)
from streamconform_reference.apis.bedrock_invoke.decode import METRIC_FIELDS, BedrockInvokeDecoder
from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload
from streamconform_reference.decoding.fields import read_count
from streamconform_reference.framing import Frame
from streamconform_reference.framing.aws_eventstream import EventStreamFraming, read_headers
from streamconform_reference.outcome import Json

from .json_values import object_at, report_refused_calls
from .model import COMPLETE, CONTENT, ERROR, GIVES_UP, STATUS, STOP_REASON, USAGE
from .registry import StreamMutants

mutants = StreamMutants("bedrock-invoke", BedrockInvokeDecoder)

_PRELUDE: Final = struct.Struct(">III")
_CHECKSUM_SIZE: Final = 4


@mutants.decoder(
    kind="text-garbled",
    fails=(*CONTENT, "**:stop.sequence"),
)
class Base64AsLatin_1(BedrockInvokeDecoder):  # noqa: N801 - the name of the mutant
    """Reads the bytes of a chunk as Latin-1, so every character beyond ASCII becomes several."""

    def unwrap(self, frame: Frame) -> Frame:
        event = super().unwrap(frame)
        return replace(event, data=event.data.decode("latin-1").encode())


@mutants.replace(
    "framing_factory",
    kind="damage-unnoticed",
    fails=GIVES_UP,
)
class ChecksumsUnchecked(EventStreamFraming):
    """Trusts a message's lengths, and never verifies its checksums."""

    def __init__(self) -> None:
        super().__init__()
        self._rest = b""

    def receive(self, data: bytes) -> list[Frame]:
        self.recognised = True
        self._rest += data
        frames = []
        while len(self._rest) >= _PRELUDE.size:
            total, length, _ = _PRELUDE.unpack_from(self._rest)
            if not _PRELUDE.size <= total <= len(self._rest):
                break
            message, self._rest = self._rest[:total], self._rest[total:]
            end = _PRELUDE.size + length
            try:
                headers = read_headers(message[_PRELUDE.size : end])
            except ValueError:
                continue
            frames.append(Frame(message[end:-_CHECKSUM_SIZE], None, 0, 0, headers))
        return frames


@mutants.replace(
    "handlers",
    "error",
    kind="error-as-success",
    fails=ERROR,
)
def error_in_a_chunk_ignored(message: Assembler, payload: Payload) -> None:
    """Treats an error inside a chunk as one more event of the message."""


@mutants.decoder(
    kind="error-as-success",
    fails=ERROR,
)
class ExceptionWithoutBytesDropped(BedrockInvokeDecoder):
    """Skips every message whose payload has no `bytes`, including exceptions."""

    def take_failure(self, frame: Frame) -> None:
        pass


@mutants.replace(
    "handlers",
    "content_block_delta",
    kind="sources-lost",
    fails=CONTENT,
)
def invoke_citations_lost(message: Assembler, payload: Payload) -> None:
    """Reads the text of a block, but ignores citations that come in deltas."""
    if object_at(payload, "delta").get("type") != "citations_delta":
        on_content_block_delta(message, payload)


@mutants.replace(
    "handlers",
    "content_block_delta",
    kind="signature-lost",
    fails=CONTENT,
)
def invoke_signature_lost(message: Assembler, payload: Payload) -> None:
    """Looks for the signature in `thinking_delta`, where it never occurs."""
    if object_at(payload, "delta").get("type") != "signature_delta":
        on_content_block_delta(message, payload)


@mutants.replace(
    "handlers",
    "message_start",
    kind="cache-counted-twice",
    fails=USAGE,
)
def invoke_cache_in_input(message: Assembler, payload: Payload) -> None:
    """Adds cached tokens to the input, which does not contain them, so they are billed twice."""
    start = object_at(payload, "message")
    usage = object_at(start, "usage")
    if "input_tokens" in usage:
        kinds = ("", "cache_read_", "cache_creation_")
        total = sum(usage.get(f"{kind}input_tokens") or 0 for kind in kinds)
        start = {**start, "usage": {**usage, "input_tokens": total}}
    on_message_start(message, {**payload, "message": start})


@mutants.decoder(
    kind="other-counts",
    fails=USAGE,
)
class MetricsAsUsage(BedrockInvokeDecoder):
    """Replaces the model's counts with the service's."""

    def read_metrics(self, metrics: Any) -> None:
        if isinstance(metrics, dict):
            counts = {name: read_count(metrics, key) or 0 for name, key in METRIC_FIELDS.items()}
            self.message.report_usage(counts)


@mutants.decoder(
    kind="cache-lost",
    fails=USAGE,
)
class MetricsWithoutCache(BedrockInvokeDecoder):
    """Takes only input and output tokens from the service's counts."""

    def read_metrics(self, metrics: Any) -> None:
        if isinstance(metrics, dict):
            metrics = {key: value for key, value in metrics.items() if not key.startswith("cache")}
        super().read_metrics(metrics)


@mutants.replace(
    "framing_factory",
    kind="reads-as-units",
    fails=GIVES_UP,
)
class ReadAsMessage(EventStreamFraming):
    """Expects complete messages in every network read, and drops an incomplete one at its end."""

    def receive(self, data: bytes) -> list[Frame]:
        framing = EventStreamFraming()
        frames = framing.receive(data)
        self.recognised = self.recognised or framing.recognised
        return frames


@mutants.replace(
    "handlers",
    "message_delta",
    kind="stop-reason-lost",
    fails=("**:stop.sequence",),
)
def stop_sequence_lost(message: Assembler, payload: Payload) -> None:
    """Reports that a stop sequence ended the answer, but not which one."""
    delta = {key: value for key, value in object_at(payload, "delta").items() if key != "stop_sequence"}
    on_message_delta(message, {**payload, "delta": delta})


@mutants.decoder(
    kind="cut-as-complete",
    fails=(*STATUS, *COMPLETE),
)
class TruncatedTailAccepted(BedrockInvokeDecoder):
    """Treats the end of the body as the end of the answer, even inside a message."""

    def end_of_body(self) -> None:
        self.message.complete()


@mutants.decoder(
    kind="damage-unnoticed",
    fails=(*ERROR, *CONTENT, *USAGE),
)
class UndecodableChunkSkipped(BedrockInvokeDecoder):
    """Silently skips a chunk whose `bytes` is not base64."""

    def unwrap(self, frame: Frame) -> Frame:
        try:
            return super().unwrap(frame)
        except BrokenPayloadError:
            return replace(frame, data=b"")


@mutants.stream(kind="stop-guessed", fails=STOP_REASON)
def refused_call_of_invoke_as_tool_use(messages: list[Json]) -> Iterator[Json]:
    """Reports tool_use for every answer with a call, even if the model declined after it."""
    yield from report_refused_calls(messages, "refusal")


@mutants.decoder(kind="unknown-fatal", fails=GIVES_UP)
class TypelessChunkFatal(BedrockInvokeDecoder):
    """Fails on a chunk without a type, such as one with the metrics, also after the end of the message."""

    stop: Payload | None = None

    def read(self, payload: Payload) -> None:
        if "type" not in payload:
            raise BrokenPayloadError("no type")
        if payload["type"] == "message_stop":
            self.stop = payload
        else:
            super().read(payload)

    def end_of_body(self) -> None:
        if self.stop is not None and not self.message.ended:
            super().read(self.stop)
        super().end_of_body()
