"""The grammar of OpenAI Chat Completions: streams as OpenAI's own servers send them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.framing import Frame, Framing
from streamconform_reference.framing.sse import SseFraming
from streamconform_reference.grammars.fields import Field, adds_up, needs, takes
from streamconform_reference.grammars.grammar import (
    BEFORE,
    ENDED,
    Rule,
    UnnamedGrammar,
    Violations,
    find_arguments_fault,
)

from .audio import Audio

_CALL: Final = "choices[].delta.tool_calls[]"
_USAGE: Final = ("usage.prompt_tokens", "usage.completion_tokens", "usage.total_tokens")
_CALLING: Final = "https://platform.openai.com/docs/guides/function-calling"

FINISH_REASONS: Final = frozenset({"stop", "length", "tool_calls", "content_filter", "function_call"})
CUTTING: Final = frozenset({"length", "content_filter"})
"""Finish reasons after which the last call may be truncated."""


@dataclass(slots=True)
class Choice:
    """The state of one choice."""

    finish: str | None = None
    begun: bool = False
    audio: Audio = field(default_factory=Audio)
    calls: dict[int, list[str]] = field(default_factory=dict)
    """The fragments of each call, by index."""
    ids: dict[str, int] = field(default_factory=dict)


class OpenaiChatGrammar(UnnamedGrammar):
    """Checks one stream of `POST /v1/chat/completions` with `"stream": true`."""

    framing_factory: ClassVar[Callable[[], Framing]] = SseFraming
    source: ClassVar[str] = "https://platform.openai.com/docs/api-reference/chat-streaming"
    rules: ClassVar[Mapping[str, Rule]] = {
        "no-event-name": Rule("events must have no `event:` line", "may"),
        "done-marker": Rule("the stream must end with `data: [DONE]`"),
        "terminal-last": Rule("nothing may follow `[DONE]` or an error"),
        "one-terminal": Rule("every choice must have exactly one finish reason, except after audio"),
        "id-constant": Rule("every chunk must have the same id"),
        "model-constant": Rule("every chunk must have the same model", "should"),
        "role-first": Rule("the first delta of a choice must have the role `assistant`", "should"),
        "no-delta-after-stop": Rule("no delta may follow the finish reason of its choice"),
        "finish-reason-known": Rule("the finish reason must be documented"),
        "stop-fits-calls": Rule("the finish reason may be `tool_calls` only if the choice has calls"),
        "index-contiguous": Rule("call indices must count up from 0 without gaps", source=_CALLING),
        "call-start": Rule("the first fragment of a call must have its id, type and name", source=_CALLING),
        "id-once": Rule("later fragments of a call must not have a different id", source=_CALLING),
        "unique-ids": Rule("no two calls may have the same id", source=_CALLING),
        "arguments-parse": Rule("the joined fragments of a call must be a JSON object", "should", _CALLING),
        "usage-present": Rule("if requested, usage must be in the last chunk, which has no choices"),
        "usage-once": Rule("usage must be null in all chunks except the last", "should"),
        "usage-total": Rule("`total_tokens` must be the sum of prompt and completion"),
        "choices-present": Rule("a chunk without choices must have usage or moderation"),
    }
    fields: ClassVar[Mapping[str, tuple[Field, ...]]] = {
        "chunk": (
            *needs("name", "id", "model"),
            *needs('"chat.completion.chunk"', "object"),
            *needs("count", "created", "choices[].index"),
            *needs("list", "choices"),
            *needs("object", "choices[].delta"),
            *needs("text or null", "choices[].finish_reason"),
            *takes("text or null", "choices[].delta.content", "choices[].delta.refusal"),
            *takes('"assistant"', "choices[].delta.role"),
            *takes("list", "choices[].delta.tool_calls"),
            *needs("count", f"{_CALL}.index", *_USAGE),
            *takes("name", f"{_CALL}.id", f"{_CALL}.function.name"),
            *takes('"function"', f"{_CALL}.type"),
            *takes("text", f"{_CALL}.function.arguments"),
            *takes("object or null", "usage"),
        ),
        "error": (*needs("object", "error"), *needs("name", "error.message")),
    }

    def begin(self) -> None:
        """Initialize the state that is kept between frames."""
        self.choices: dict[int, Choice] = {}
        self.id: Any = None
        self.model: Any = None
        self.usage_at: int | None = None
        self.marked = self.failed = False

    def kind_of(self, frame: Frame, payload: Payload) -> str | None:
        """Return `error` or `chunk`: chunks have no type."""
        del frame
        return "error" if payload.get("error") else "chunk"

    def check_done_mark(self) -> Violations:
        """Check `[DONE]`."""
        if self.marked:
            yield "terminal-last", "a second `[DONE]`"
        self.marked = True
        self.state = ENDED

    def read(self, kind: str, payload: Payload) -> Violations:
        """Yield violations that no table covers."""
        if self.marked or self.failed:
            yield "terminal-last", f"another {kind} follows"
        if kind == "error":
            self.failed = True
            return
        if self.state == BEFORE:
            self.state = self.begun
            self.id, self.model = payload.get("id"), payload.get("model")
        if payload.get("id") != self.id:
            yield "id-constant", f"`{payload.get('id')}` after `{self.id}`"
        if payload.get("model") != self.model:
            yield "model-constant", f"`{payload.get('model')}` after `{self.model}`"
        choices = payload.get("choices")
        if isinstance(choices, list):
            has_content = choices or "moderation" in payload
            yield from self._usage(payload.get("usage"), empty=not choices, has_content=bool(has_content))
            for entry in choices:
                if isinstance(entry, dict) and type(entry.get("index")) is int:
                    yield from self._choice(entry)

    def finish(self) -> Violations:
        """Yield violations at the end of the body."""
        self.state = ENDED
        if self.failed:
            return
        if not self.choices:
            yield "one-terminal", "there is no choice"
        for index, choice in self.choices.items():
            if choice.finish is None and not choice.audio.ended:
                yield "one-terminal", f"choice {index} has none"
        if not self.marked:
            yield "done-marker", "the body ends without it"
        options = self.request.get("stream_options")
        is_requested = isinstance(options, dict) and options.get("include_usage") is True
        if is_requested and self.usage_at is None:
            yield "usage-present", "there is none"

    def _usage(self, usage: Any, *, empty: bool, has_content: bool) -> Violations:
        if not isinstance(usage, dict):
            if not has_content:
                yield "choices-present", "it has neither"
            return
        if self.usage_at is not None or not empty:
            yield "usage-once", "it comes in a chunk with choices, or more than once"
        self.usage_at = self.frame
        parts = [usage.get(path.partition(".")[2]) for path in _USAGE]
        if not adds_up(parts[:2], parts[2]):
            yield "usage-total", f"{parts[0]} + {parts[1]} is not {parts[2]}"

    def _choice(self, value: Mapping[str, Any]) -> Violations:
        number = value["index"]
        choice = self.choices.setdefault(number, Choice())
        delta = value.get("delta")
        delta = delta if isinstance(delta, dict) else {}
        if not choice.begun and delta.get("role") != "assistant":
            yield "role-first", f"choice {number} starts without it"
        choice.begun = True
        choice.audio.read(delta)
        says = any(delta.get(key) for key in ("content", "refusal", "tool_calls", "function_call"))
        if choice.finish is not None and says:
            yield "no-delta-after-stop", f"choice {number} has already ended with `{choice.finish}`"
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict) and type(call.get("index")) is int:
                yield from _fragment(choice, call)
        reason = value.get("finish_reason")
        if not isinstance(reason, str):
            return
        if choice.finish is not None:
            yield "one-terminal", f"choice {number} ends again, with `{reason}`"
        choice.finish = reason
        if reason not in FINISH_REASONS:
            yield "finish-reason-known", f"it is `{reason}`"
        if reason == "tool_calls" and not choice.calls:
            yield "stop-fits-calls", f"choice {number} has none"
        for index, pieces in choice.calls.items():
            if reason not in CUTTING and (fault := _arguments(pieces)):
                yield "arguments-parse", f"call {index}: {fault}"


def _fragment(choice: Choice, call: Mapping[str, Any]) -> Violations:
    index, value = call["index"], call.get("id")
    name = value if isinstance(value, str) else ""
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    known = {number: entry for entry, number in choice.ids.items()}
    if index not in choice.calls:
        if index != len(choice.calls):
            yield "index-contiguous", f"call {index} starts, expected {len(choice.calls)}"
        missing = [key for key in ("id", "type") if not call.get(key)]
        missing += [] if function.get("name") else ["function.name"]
        if missing:
            yield "call-start", f"call {index} starts without `{'`, `'.join(missing)}`"
        if name in choice.ids:
            yield "unique-ids", f"calls {choice.ids[name]} and {index} have the id `{name}`"
        elif name:
            choice.ids[name] = index
    elif name and name != known.get(index):
        yield "id-once", f"call {index} was `{known.get(index)}` but is now `{name}`"
    piece = function.get("arguments")
    choice.calls.setdefault(index, []).append(piece if isinstance(piece, str) else "")


def _arguments(pieces: list[str]) -> str | None:
    """Return why these fragments are not valid arguments; OpenAI always sends an object, even if empty."""
    text = "".join(pieces)
    return find_arguments_fault(text) if text.strip() else "it is empty; without arguments, the text is `{}`"


GRAMMAR: Final = OpenaiChatGrammar
