"""The grammar of Cohere Chat: streams as Cohere sends them, with v2 events or v1 records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.framing import Frame, Framing
from streamconform_reference.grammars.blocks import RULES as BLOCK_RULES
from streamconform_reference.grammars.blocks import GrammarBlocks
from streamconform_reference.grammars.fields import Field, needs, takes
from streamconform_reference.grammars.grammar import (
    ENDED,
    Grammar,
    Rule,
    Step,
    Violations,
    find_arguments_fault,
    step,
)

from .framing import CohereFraming

_MESSAGE: Final = "delta.message"
_CALL: Final = f"{_MESSAGE}.tool_calls"
_V1: Final = "https://docs.cohere.com/reference/chat-stream-v1"
FINISH_REASONS: Final = frozenset(
    [
        "COMPLETE",
        "STOP_SEQUENCE",
        "MAX_TOKENS",
        "TOOL_CALL",
        "ERROR",
        "TIMEOUT",
        "ERROR_LIMIT",  # this and the following ones belong to v1
        "ERROR_TOXIC",
        "USER_CANCEL",
    ]
)
CUTTING: Final = FINISH_REASONS - {"COMPLETE", "STOP_SEQUENCE", "TOOL_CALL"}
"""Finish reasons after which the last call may be truncated."""


class CohereChatGrammar(Grammar):
    """Checks one stream of `POST /v2/chat` or `POST /v1/chat` with `"stream": true`."""

    framing_factory: ClassVar[Callable[[], Framing]] = CohereFraming
    source: ClassVar[str] = "https://docs.cohere.com/reference/chat-stream"
    rules: ClassVar[Mapping[str, Rule]] = {
        **BLOCK_RULES,
        "event-name": Rule("the name of every event must be its payload's type"),
        "start-first": Rule("`message-start`, or `stream-start` in v1, must come first"),
        "one-message-start": Rule("there must be exactly one `message-start`"),
        "arguments-parse": Rule("the joined fragments of a call must be a JSON object", "should"),
        "unique-ids": Rule("no two calls may have the same id"),
        "finish-reason-known": Rule("the finish reason must be documented", "should"),
        "stop-fits-calls": Rule("the finish reason may be `TOOL_CALL` only if there is a call"),
        "usage-present": Rule("the last frame must have the billed units, unless the answer failed"),
        "no-done-marker": Rule("`[DONE]` may come only after the terminal event", "should"),
        "is-finished": Rule("`is_finished` must be true only in the last record of v1", source=_V1),
    }
    fields: ClassVar[Mapping[str, tuple[Field, ...]]] = {
        "message-start": (
            *needs("name", "id"),
            *needs("object", "delta", _MESSAGE),
            *needs('"assistant"', f"{_MESSAGE}.role"),
        ),
        "content-start": (
            *needs("count", "index"),
            *needs("object", "delta", _MESSAGE, f"{_MESSAGE}.content"),
            *needs("name", f"{_MESSAGE}.content.type"),
        ),
        "content-delta": (
            *needs("count", "index"),
            *needs("object", "delta", _MESSAGE, f"{_MESSAGE}.content"),
            *takes("text", f"{_MESSAGE}.content.text", f"{_MESSAGE}.content.thinking"),
        ),
        "content-end": needs("count", "index"),
        "tool-plan-delta": (*needs("object", "delta", _MESSAGE), *needs("text", f"{_MESSAGE}.tool_plan")),
        "tool-call-start": (
            *needs("count", "index"),
            *needs("object", "delta", _MESSAGE, _CALL, f"{_CALL}.function"),
            *needs("name", f"{_CALL}.id", f"{_CALL}.function.name"),
            *needs('"function"', f"{_CALL}.type"),
            *needs("text", f"{_CALL}.function.arguments"),
        ),
        "tool-call-delta": (
            *needs("count", "index"),
            *needs("object", "delta", _MESSAGE, _CALL, f"{_CALL}.function"),
            *needs("text", f"{_CALL}.function.arguments"),
        ),
        "tool-call-end": needs("count", "index"),
        "citation-start": (
            *needs("count", "index"),
            *needs("object", "delta", _MESSAGE, f"{_MESSAGE}.citations"),
        ),
        "citation-end": needs("count", "index"),
        "message-end": (*needs("object", "delta"), *needs("name", "delta.finish_reason")),
        "stream-start": needs("name", "generation_id"),
        "text-generation": needs("text", "text"),
        "tool-calls-generation": (
            *needs("list", "tool_calls"),
            *needs("name", "tool_calls[].name"),
            *needs("object", "tool_calls[].parameters"),
        ),
        "stream-end": (*needs("name", "finish_reason"), *needs("object", "response")),
    }
    order: ClassVar[Mapping[str, Step]] = {
        "message-start": step("before", "open", "one-message-start"),
        "stream-start": step("before", "open", "one-message-start"),
        "content-start": step("open", None, "terminal-last"),
        "content-delta": step("open", None, "terminal-last"),
        "content-end": step("open", None, "terminal-last"),
        "tool-plan-delta": step("open", None, "terminal-last"),
        "tool-call-start": step("open", None, "terminal-last"),
        "tool-call-delta": step("open", None, "terminal-last"),
        "tool-call-end": step("open", None, "terminal-last"),
        "text-generation": step("open", None, "terminal-last"),
        "tool-calls-generation": step("open", None, "terminal-last"),
        "message-end": step("open", ENDED, "one-terminal"),
        "stream-end": step("open", ENDED, "one-terminal"),
    }

    def begin(self) -> None:
        """Initialize the state that is kept between frames."""
        self.content = GrammarBlocks("content block")
        self.calls = GrammarBlocks("call")
        self.ids: set[str] = set()
        self.called = False
        self.broken_calls: list[str] = []

    def kind_of(self, frame: Frame, payload: Payload) -> str | None:
        """Return the `type` of v2, or the `event_type` of v1."""
        del frame
        kind = payload.get("type") or payload.get("event_type")
        return kind if isinstance(kind, str) else None

    def check_done_mark(self) -> Violations:
        """Check `[DONE]`, which is undocumented but ends every recorded v2 stream."""
        if self.state != ENDED:
            yield "no-done-marker", "`[DONE]` came before `message-end`"

    def check_name(self, frame: Frame, kind: str | None) -> Violations:
        """Yield a violation if an event's name differs from its type; records of v1 have no name."""
        if frame.event is not None and frame.event.decode("utf-8", "replace") != kind:
            yield "event-name", f"`{frame.event.decode('utf-8', 'replace')[:60]}` is of type `{kind}`"

    def read(self, kind: str, payload: Payload) -> Violations:
        """Yield violations that no table covers."""
        index, message = payload.get("index"), _read_object_at(payload, "delta", "message")
        content, call = _read_object_at(message, "content"), _read_object_at(message, "tool_calls")
        match kind:
            case "content-start":
                content_type = content.get("type")
                yield from self.content.start(index, content_type if isinstance(content_type, str) else None)
            case "content-delta":
                piece = next((key for key in ("text", "thinking") if key in content), "text")
                yield from self.content.delta(index, piece, (piece,), content.get(piece))
            case "content-end":
                yield from self.content.stop(index)
            case "tool-call-start":
                yield from self._call(index, call)
            case "tool-call-delta":
                text = _read_object_at(call, "function").get("arguments")
                yield from self.calls.delta(index, "tool-call-delta", ("call",), text)
            case "tool-call-end":
                yield from self.calls.stop(index)
                block = self.calls.get(index)
                if block and (fault := find_arguments_fault(block.text)):
                    self.broken_calls.append(f"call {index}: {fault}")
            case "tool-calls-generation":
                self.called = True
            case "message-end":
                delta = _read_object_at(payload, "delta")
                yield from self._end(delta.get("finish_reason"), _read_object_at(delta, "usage"))
            case "stream-end":
                yield from self._end(
                    payload.get("finish_reason"), _read_object_at(payload, "response", "meta")
                )
            case _:
                pass
        if "event_type" in payload and payload.get("is_finished") is not (kind == "stream-end"):
            yield "is-finished", f"it is `{payload.get('is_finished')}` in a `{kind}`"

    def _call(self, index: Any, call: Mapping[str, Any]) -> Violations:
        yield from self.calls.start(index, "call")
        text, name = _read_object_at(call, "function").get("arguments"), call.get("id")
        block = self.calls.get(index)
        if block is not None and isinstance(text, str):
            block.pieces.append(text)
        if isinstance(name, str) and name:
            if name in self.ids:
                yield "unique-ids", f"`{name[:60]}` is repeated"
            self.ids.add(name)
        self.called = True

    def _end(self, finish_reason: Any, counts: Mapping[str, Any]) -> Violations:
        reason = finish_reason if isinstance(finish_reason, str) else None
        failed = reason in ("ERROR", "TIMEOUT", "ERROR_LIMIT", "ERROR_TOXIC")
        if not failed:
            if reason not in CUTTING:
                yield from self.content.close()
                yield from self.calls.close()
            units = _read_object_at(counts, "billed_units")
            if not all(type(units.get(key)) in (int, float) for key in ("input_tokens", "output_tokens")):
                yield "usage-present", "`billed_units` lacks a count"
        if reason is not None and reason not in FINISH_REASONS:
            yield "finish-reason-known", f"it is `{reason[:60]}`"
        if reason not in CUTTING:
            for message in self.broken_calls:
                yield "arguments-parse", message
        if reason == "TOOL_CALL" and not self.called:
            yield "stop-fits-calls", "there is none"


def _read_object_at(holder: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    """Return the object at a path; an empty one if there is none."""
    value: Any = holder
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


GRAMMAR: Final = CohereChatGrammar
