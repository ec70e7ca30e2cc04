"""The grammar of Gemini's `streamGenerateContent`: streams as Google's own servers send them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.framing import Frame, Framing
from streamconform_reference.grammars.fields import Field, adds_up, needs, takes
from streamconform_reference.grammars.grammar import BEFORE, ENDED, Rule, UnnamedGrammar, Violations

from .framing import GoogleFraming

_PART: Final = "candidates[].content.parts[]"
_COUNTS: Final = (
    "promptTokenCount",
    "candidatesTokenCount",
    "toolUsePromptTokenCount",
    "thoughtsTokenCount",
)
_CALLING: Final = "https://ai.google.dev/gemini-api/docs/function-calling"
_PARTIAL: Final = (
    "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/function-calling"
)
_VALUES: Final = ("stringValue", "numberValue", "boolValue", "nullValue", "listValue", "structValue")


class GoogleGenerateGrammar(UnnamedGrammar):
    """Checks one stream of `:streamGenerateContent`, as events or as a JSON array."""

    framing_factory: ClassVar[Callable[[], Framing]] = GoogleFraming
    source: ClassVar[str] = "https://ai.google.dev/api/generate-content"
    rules: ClassVar[Mapping[str, Rule]] = {
        "no-event-name": Rule("events must have no `event:` line", "may"),
        "chunk-says-something": Rule("a chunk must have candidates, prompt feedback or usage", "should"),
        "one-terminal": Rule("every candidate must have a finish reason, unless the prompt is blocked"),
        "terminal-last": Rule("no content may follow a candidate's finish reason or an error"),
        "part-says-something": Rule("a part must have exactly one kind of data", "should"),
        "call-name": Rule("a function call must have a name", source=_CALLING),
        "call-open": Rule("a piece of arguments must belong to an open call", source=_PARTIAL),
        "partial-value": Rule(
            "a piece of arguments must have a path from `$` and one value", source=_PARTIAL
        ),
        "usage-present": Rule("the last chunk must have the token counts", "should"),
        "usage-total": Rule(
            "`totalTokenCount` must be the sum of prompt, candidates, tool use and thoughts",
            "should",  # one recorded stream from Google is off by one token
        ),
        "id-constant": Rule("every chunk must have the same response id", "should"),
    }
    fields: ClassVar[Mapping[str, tuple[Field, ...]]] = {
        "chunk": (
            *takes("list", "candidates", "candidates[].content.parts"),
            *takes("object", "candidates[].content", "usageMetadata", "promptFeedback"),
            *takes('"model"', "candidates[].content.role"),
            *takes("count", "candidates[].index"),
            *takes("text", f"{_PART}.text", f"{_PART}.thoughtSignature"),
            *takes("true or false", f"{_PART}.thought"),
            *takes("object", f"{_PART}.functionCall", f"{_PART}.functionCall.args"),
            *takes("list", f"{_PART}.functionCall.partialArgs"),
            *takes("true or false", f"{_PART}.functionCall.willContinue"),
            *takes("count", *(f"usageMetadata.{entry}" for entry in (*_COUNTS, "totalTokenCount"))),
            *needs("name", "modelVersion", "responseId", level="should"),
        ),
        "error": (
            *needs("count", "error.code"),
            *needs("name", "error.message", "error.status"),
        ),
    }

    def begin(self) -> None:
        """Initialize the state that is kept between frames."""
        self.finished: dict[int, bool] = {}
        self.calling = self.failed = self.blocked = False
        self.id: Any = None
        self.usage: Mapping[str, Any] = {}

    def kind_of(self, frame: Frame, payload: Payload) -> str | None:
        """Return `error` or `chunk`, since chunks have no type."""
        del frame
        return "error" if isinstance(payload.get("error"), dict) else "chunk"

    def read(self, kind: str, payload: Payload) -> Violations:
        """Yield violations that no table covers."""
        if self.failed:
            yield "terminal-last", f"another {kind} comes after an error"
        if kind == "error":
            self.failed = True
            return
        name = payload.get("responseId")
        if self.state == BEFORE:
            self.state, self.id = self.begun, name
        elif name != self.id:
            yield "id-constant", f"`{name}` after `{self.id}`"
        if not {"candidates", "promptFeedback", "usageMetadata"} & payload.keys():
            yield "chunk-says-something", f"it has only {sorted(payload)[:5]}"
        feedback, usage = payload.get("promptFeedback"), payload.get("usageMetadata")
        self.blocked |= isinstance(feedback, dict) and bool(feedback.get("blockReason"))
        if isinstance(usage, dict):
            yield from self._usage(usage)
        candidates = payload.get("candidates")
        for position, entry in enumerate(candidates if isinstance(candidates, list) else ()):
            if isinstance(entry, dict):
                yield from self._candidate(entry.get("index", position), entry)

    def finish(self) -> Violations:
        """Yield violations at the end of the body."""
        begun, self.state = self.state != BEFORE, ENDED
        if self.failed or (self.blocked and not self.finished):
            return
        if not self.finished:
            yield "one-terminal", "no candidate came"
        for index, finished in self.finished.items():
            if not finished:
                yield "one-terminal", f"candidate {index} has none"
        if begun and type(self.usage.get("promptTokenCount")) is not int:
            yield "usage-present", "`usageMetadata.promptTokenCount` is absent"
        if begun and type(self.usage.get("totalTokenCount")) is not int:
            yield "usage-present", "`usageMetadata.totalTokenCount` is absent"

    def _usage(self, usage: Mapping[str, Any]) -> Violations:
        self.usage = {**self.usage, **usage}
        counts = [usage.get(key, 0) for key in _COUNTS]
        total = usage.get("totalTokenCount")
        if not adds_up(counts, total):
            yield "usage-total", f"{' + '.join(map(str, counts))} is not {total}"

    def _candidate(self, index: Any, candidate: Mapping[str, Any]) -> Violations:
        if type(index) is not int:
            return
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
        parts = [entry for entry in parts if isinstance(entry, dict)] if isinstance(parts, list) else []
        if self.finished.get(index) and any(entry.get("text") or "functionCall" in entry for entry in parts):
            yield "terminal-last", f"candidate {index} has ended"
        for part in parts:
            call = part.get("functionCall")
            if isinstance(call, dict):
                yield from self._call(call)
            elif not part.keys() - {"thought", "thoughtSignature", "videoMetadata"}:
                yield "part-says-something", f"it has only {sorted(part)}"
        self.finished[index] = bool(self.finished.get(index) or candidate.get("finishReason"))

    def _call(self, call: Mapping[str, Any]) -> Violations:
        pieces = call.get("partialArgs")
        if not (isinstance(call.get("name"), str) and call["name"]) and not self.calling:
            piece = pieces is not None or "willContinue" in call
            yield ("call-open" if piece else "call-name"), "the call has no name, and none is open"
        for entry in pieces if isinstance(pieces, list) else ():
            path = entry.get("jsonPath") if isinstance(entry, dict) else None
            if not (isinstance(path, str) and path.startswith("$")):
                yield "partial-value", f"the path is `{str(path)[:60]}`"
            elif sum(key in entry for key in _VALUES) > 1:
                yield "partial-value", f"`{path[:60]}` has several values"
        self.calling = call.get("willContinue") is True


GRAMMAR: Final = GoogleGenerateGrammar
