"""Ollama `/api/chat`: JSON lines in, events and the outcome out.

Source: https://docs.ollama.com/api/chat, https://docs.ollama.com/api/errors and the types in
https://github.com/ollama/ollama/blob/main/api/types.go

Undocumented behavior, and differences between versions:

- The answer is complete at `done: true`; anything after it is ignored. `done_reason` alone does not end the
  answer; older versions omit it, in which case the reason is `stop`.
- If thinking and text share a record, thinking comes first. Tags such as `<think>` inside text stay text:
  older versions leave them there, with or without the opening tag.
- A call is complete in its record, which may be the one with `done: true`; calls may share a record. Each
  entry is a call, because in some versions `index` is the same for all calls, and ids are often absent.
- Arguments are an object. If a server sends them as text, the text is one fragment.
- `done_reason` is `stop` after calls too.
- A mid-stream error is a record `{"error": ...}` without a type; one version used the error message as the
  key (ollama/ollama#11781).
- An absent count is unknown: `prompt_eval_count` is omitted if the entire prompt was cached
  (ollama/ollama#2068). `eval_count` includes the thinking.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from streamconform_reference.decoding.decoder import BrokenPayloadError, Decoder, Payload
from streamconform_reference.decoding.fields import read_count
from streamconform_reference.decoding.prose import Prose
from streamconform_reference.decoding.provider_errors import read_error
from streamconform_reference.framing import Framing
from streamconform_reference.framing.ndjson import NdjsonFraming
from streamconform_reference.outcome import Error, StopReason

FieldHandler = Callable[["OllamaChatDecoder", Any], None]

# `load` and `unload` are the replies to requests without messages.
STOP_REASONS: Final[Mapping[str, StopReason]] = {
    "stop": "stop",
    "length": "length",
    "load": "other",
    "unload": "other",
}


def take_thinking(answer: OllamaChatDecoder, thinking: Any) -> None:
    """Append thinking."""
    if not isinstance(thinking, str):
        raise BrokenPayloadError("`thinking` is not text")
    answer.prose.append("thinking", thinking)


def take_content(answer: OllamaChatDecoder, content: Any) -> None:
    """Append visible text."""
    if not isinstance(content, str):
        raise BrokenPayloadError("`content` is not text")
    answer.prose.append("text", content)


def take_tool_calls(answer: OllamaChatDecoder, entries: Any) -> None:
    """Read complete calls, in their order on the wire."""
    if not isinstance(entries, list):
        raise BrokenPayloadError("`tool_calls` is not a list")
    for entry in entries:
        answer.read_call(entry)


# The fields of a message, in the order in which they are read, regardless of their order on the wire.
FIELDS: Final[Mapping[str, FieldHandler]] = {
    "thinking": take_thinking,
    "content": take_content,
    "tool_calls": take_tool_calls,
}


class OllamaChatDecoder(Decoder):
    """Decodes one response of `POST /api/chat`, which streams by default."""

    framing_factory: ClassVar[Callable[[], Framing]] = NdjsonFraming
    fields: ClassVar[Mapping[str, FieldHandler]] = FIELDS

    def begin(self) -> None:
        """Initialize the state that is kept between payloads."""
        self.prose = Prose(self.message)
        self._calls = 0

    def read(self, payload: Payload) -> None:
        """Read one record."""
        if self.message.model is None and isinstance(name := payload.get("model"), str):
            self.message.model = name or None
        message = payload.get("message")
        if message is not None:
            if not isinstance(message, dict):
                raise BrokenPayloadError("`message` is not an object")
            for key, take in self.fields.items():
                value = message.get(key)
                if value:
                    take(self, value)
        if payload.get("error"):
            self.message.fail(read_error(payload))
        elif payload.get("done") is True:
            self.read_done(payload)
        # The error whose message is the key (ollama/ollama#11781) has no `message`.
        elif message is None:
            self._read_unnamed_error(payload)

    def read_call(self, entry: Any) -> None:
        """Read one call, which is always complete."""
        function = entry.get("function") if isinstance(entry, dict) else None
        if not isinstance(function, dict):
            raise BrokenPayloadError("a tool call has no `function`")
        self.prose.end()
        slot = ("call", self._calls)
        self._calls += 1
        name = function.get("name")
        self.message.start_call(
            slot, id=_read_id(entry.get("id")), name=name if isinstance(name, str) else ""
        )
        arguments = function.get("arguments")
        if arguments is not None:
            self.message.settle_arguments(slot, arguments)
        self.message.end(slot)

    def read_done(self, record: Payload) -> None:
        """Read the last record, which contains the stop reason and usage."""
        raw = record.get("done_reason")
        if raw is not None and not isinstance(raw, str):
            raise BrokenPayloadError("`done_reason` is not text")
        self.message.report_usage(self.to_buckets(record))
        self.message.stop(STOP_REASONS.get(raw, "other") if raw else "stop", raw or None)
        self.prose.end()
        self.message.complete()

    @staticmethod
    def to_buckets(record: Payload) -> dict[str, int | None]:
        """Return the disjoint buckets from the last record."""
        prompt, cached = (
            read_count(record, "prompt_eval_count"),
            read_count(record, "prompt_eval_cached_count"),
        )
        return {
            "input": None if prompt is None else max(prompt - (cached or 0), 0),
            "cache_read": cached,
            "output": read_count(record, "eval_count"),
        }

    def _read_unnamed_error(self, record: Payload) -> None:
        for key, value in record.items():
            if key.startswith("error") and isinstance(value, str) and value:
                self.message.fail(Error(None, f"{key}: {value}", None))


def _read_id(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
