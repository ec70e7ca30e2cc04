"""Mutants that decode ollama-chat."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from streamconform_reference.apis.ollama_chat.decode import OllamaChatDecoder
from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.framing import Frame
from streamconform_reference.framing.ndjson import NdjsonFraming
from streamconform_reference.json_text.codec import dumps
from streamconform_reference.outcome import Json

from .json_values import object_at
from .model import ARGUMENTS, ARGUMENTS_TEXT, BOTH, COMPLETE, CONTENT, ERROR, GIVES_UP, STOP_REASON, USAGE
from .registry import StreamMutants

mutants = StreamMutants("ollama-chat", OllamaChatDecoder)


@mutants.decoder(
    kind="part-lost",
    fails=(*CONTENT, *STOP_REASON),
)
class CallsOfLastRecordDropped(OllamaChatDecoder):
    """Reads only the stop reason and the token counts of the last record, so its calls are lost."""

    def read(self, payload: Payload) -> None:
        if payload.get("done"):
            message = {
                key: value for key, value in object_at(payload, "message").items() if key != "tool_calls"
            }
            payload = {**payload, "message": message}
        super().read(payload)


@mutants.decoder(
    kind="calls-merged",
    fails=CONTENT,
)
class CallsOfOneIndexJoined(OllamaChatDecoder):
    """Stores calls by index, which some versions set to the same value for every call."""

    @cached_property
    def indices(self) -> set[int]:
        return set()

    def read_call(self, entry: Any) -> None:
        index = object_at(entry, "function").get("index", 0) if isinstance(entry, dict) else 0
        if index not in self.indices:
            self.indices.add(index)
            super().read_call(entry)


@mutants.output(
    kind="content-lost-at-the-end",
    fails=(*CONTENT, "**:invariant.**"),
)
def content_dropped_on_error(message: Json) -> None:
    """Drops the content that arrived before the error record."""
    outcome = object_at(message, "outcome")
    if outcome.get("status") == "error":
        outcome["content"] = []


@mutants.output(
    kind="stop-hides-calls",
    fails=STOP_REASON,
)
def done_hides_calls(message: Json) -> None:
    """Takes `stop` literally, so the tool calls before it are never run."""
    stop = object_at(message.get("outcome", message), "stop")
    if stop.get("reason") == "tool_use":
        stop["reason"] = "stop"


@mutants.decoder(
    kind="error-as-success",
    fails=(*ERROR, *USAGE, *CONTENT),
)
class ErrorRecordIgnored(OllamaChatDecoder):
    """Skips a record that has an error but no message."""

    def read(self, payload: Payload) -> None:
        if "message" in payload or not payload.get("error"):
            super().read(payload)


@mutants.replace(
    "framing_factory",
    kind="last-frame-lost",
    fails=GIVES_UP,
)
class LastRecordLost(NdjsonFraming):
    """Drops the last record if no line end follows it."""

    def end(self) -> list[Frame]:
        super().end()
        return []


@mutants.refuse(kind="absent-fatal", fails=GIVES_UP)
def null_content_fatal(payload: Payload) -> bool:
    """Fails on a message whose content is null."""
    return object_at(payload, "message").get("content", "") is None


@mutants.replace(
    "framing_factory",
    kind="reads-as-units",
    fails=GIVES_UP,
)
class RecordParsedByRead(NdjsonFraming):
    """Parses each network read as complete lines, so a record split across two reads is broken."""

    def receive(self, data: bytes) -> list[Frame]:
        self.recognised = True
        return [Frame(line, None, 0, 0) for line in data.split(b"\n") if line.strip()]

    def end(self) -> list[Frame]:
        return []


@mutants.decoder(
    kind="arguments-changed",
    fails=(*ARGUMENTS, *ARGUMENTS_TEXT, *COMPLETE),
)
class TextArgumentsKept(OllamaChatDecoder):
    """Passes on arguments sent as text without parsing them."""

    def read_call(self, entry: Any) -> None:
        function = object_at(entry, "function") if isinstance(entry, dict) else {}
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            entry = {**entry, "function": {**function, "arguments": dumps(arguments).decode()}}
        super().read_call(entry)


@mutants.replace(
    "fields",
    "thinking",
    kind="thinking-lost",
    fails=(*CONTENT, "**:invariant.**"),
)
def thinking_unread(_decoder: OllamaChatDecoder, _thinking: Any) -> None:
    """Ignores `message.thinking`."""


@mutants.refuse(kind="absent-fatal", paths=BOTH, fails=(*ERROR, *USAGE, *CONTENT, "**:model"))
def counts_required(payload: Payload) -> bool:
    """Fails on a last record that has a count of the prompt and no `eval_count`."""
    return "prompt_eval_count" in payload and "eval_count" not in payload
