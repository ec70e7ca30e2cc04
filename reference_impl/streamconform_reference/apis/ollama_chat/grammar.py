"""The grammar of Ollama's chat: streams as Ollama itself sends them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.framing import Frame, Framing
from streamconform_reference.framing.ndjson import NdjsonFraming
from streamconform_reference.grammars.fields import Field, needs, takes
from streamconform_reference.grammars.grammar import ENDED, Grammar, Rule, Step, Violations, step

_API: Final = "https://github.com/ollama/ollama/blob/main/docs/api.md"
_TYPES: Final = "https://github.com/ollama/ollama/blob/main/api/types.go"
_RECORD: Final = (
    *needs("name", "model", "created_at"),
    *needs("object", "message"),
    *needs('"assistant"', "message.role"),
    *needs("text", "message.content"),
    *needs("true or false", "done"),
    *takes("text", "message.thinking"),
    *takes("list", "message.tool_calls"),
    *needs("object", "message.tool_calls[].function", "message.tool_calls[].function.arguments"),
    *needs("name", "message.tool_calls[].function.name"),
    *takes("name", "message.tool_calls[].id"),
    *takes("count", "message.tool_calls[].function.index"),
)
DONE_REASONS: Final = frozenset({"stop", "length", "load", "unload"})


class OllamaChatGrammar(Grammar):
    """Checks one stream of `POST /api/chat`."""

    framing_factory: ClassVar[Callable[[], Framing]] = NdjsonFraming
    source: ClassVar[str] = _API
    rules: ClassVar[Mapping[str, Rule]] = {
        "terminal-last": Rule("nothing may follow the record with `done: true`, or the error"),
        "one-terminal": Rule("the last record must have `done: true`"),
        "model-constant": Rule("every record must have the same model", "should"),
        "done-reason-present": Rule("the last record must have the done reason", "should", _TYPES),
        "stop-reason-known": Rule("the done reason must be one of Ollama's", "should", _TYPES),
        "unique-ids": Rule("no two calls may have the same id", "should", _TYPES),
    }
    fields: ClassVar[Mapping[str, tuple[Field, ...]]] = {
        "record": _RECORD,
        "last": (
            *_RECORD,
            *takes("name", "done_reason"),
            *takes("count", "total_duration", "load_duration", "prompt_eval_duration", "eval_duration"),
            *needs("count", "eval_count", level="should"),
            *takes("count", "prompt_eval_count"),
        ),
        "error": needs("name", "error"),
    }
    order: ClassVar[Mapping[str, Step]] = {
        "record": step("before open", "open", "terminal-last"),
        "last": step("before open", ENDED, "one-terminal"),
        "error": step("before open", ENDED, "terminal-last"),
    }

    def begin(self) -> None:
        """Initialize the state that is kept between frames."""
        self.model: Any = None
        self.ids: set[str] = set()

    def kind_of(self, frame: Frame, payload: Payload) -> str | None:
        """Return `error`, `last` or `record`, since records have no type."""
        del frame
        if payload.get("error"):
            return "error"
        return "last" if payload.get("done") is True else "record"

    def read(self, kind: str, payload: Payload) -> Violations:
        """Yield violations that no table covers."""
        if kind == "error":
            return
        model = payload.get("model")
        if self.model is not None and model != self.model:
            yield "model-constant", f"`{model}` after `{self.model}`"
        self.model = self.model or model
        message = payload.get("message")
        calls = message.get("tool_calls") if isinstance(message, dict) else None
        for call in calls if isinstance(calls, list) else ():
            name = call.get("id") if isinstance(call, dict) else None
            if isinstance(name, str) and name:
                if name in self.ids:
                    yield "unique-ids", f"`{name}` is repeated"
                self.ids.add(name)
        if kind == "last":
            reason = payload.get("done_reason")
            if not reason:
                yield "done-reason-present", "`done_reason` is absent"
            elif str(reason) not in DONE_REASONS:
                yield "stop-reason-known", f"it is `{str(reason)[:60]}`"


GRAMMAR: Final = OllamaChatGrammar
