"""The grammar of Bedrock's `ConverseStream`: streams as AWS sends them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.framing import Frame, Framing
from streamconform_reference.framing.aws_eventstream import EventStreamFraming
from streamconform_reference.grammars.blocks import RULES as BLOCK_RULES
from streamconform_reference.grammars.blocks import GrammarBlocks
from streamconform_reference.grammars.fields import Field, adds_up, format_value, needs
from streamconform_reference.grammars.grammar import (
    ENDED,
    Grammar,
    Rule,
    Step,
    Violations,
    find_arguments_fault,
    step,
)

_API: Final = "https://docs.aws.amazon.com/bedrock/latest/APIReference/"
EXCEPTIONS: Final = frozenset(
    [
        "internalServerException",
        "modelStreamErrorException",
        "validationException",
        "throttlingException",
        "serviceUnavailableException",
    ]
)
STOP_REASONS: Final = frozenset(
    [
        "end_turn",
        "stop_sequence",
        "tool_use",
        "max_tokens",
        "model_context_window_exceeded",
        "content_filtered",
        "guardrail_intervened",
        "malformed_model_output",
        "malformed_tool_use",
    ]
)
CUTTING: Final = STOP_REASONS - {"end_turn", "stop_sequence", "tool_use"}
"""Stop reasons after which the last call may be truncated."""
DELTAS: Final = frozenset({"text", "toolUse", "reasoningContent", "citation", "toolResult", "image"})
_COUNTS: Final = ("usage.inputTokens", "usage.outputTokens", "usage.totalTokens")


class BedrockConverseGrammar(Grammar):
    """Checks one stream of `POST /model/{id}/converse-stream`."""

    framing_factory: ClassVar[Callable[[], Framing]] = EventStreamFraming
    source: ClassVar[str] = f"{_API}API_runtime_ConverseStream.html"
    rules: ClassVar[Mapping[str, Rule]] = {
        **BLOCK_RULES,
        "start-first": Rule("`messageStart` must come first"),
        "one-message-start": Rule("there must be exactly one `messageStart`"),
        "message-stop-behind-blocks": Rule("every block must come before `messageStop`"),
        "one-message-stop": Rule("there must be exactly one `messageStop`"),
        "metadata-last": Rule("`metadata` must come once, after `messageStop`, and end the stream"),
        "one-terminal": Rule("the stream must end with `messageStop` and `metadata`, or an exception"),
        "exception-known": Rule("an exception must be documented", "should"),
        "block-start-before-delta": Rule(
            "a call must start before its first delta", source=f"{_API}API_runtime_ContentBlockStart.html"
        ),
        "one-delta": Rule(
            "a delta must have exactly one member", source=f"{_API}API_runtime_ContentBlockDelta.html"
        ),
        "arguments-parse": Rule("the joined fragments of a call must be a JSON object", "should"),
        "unique-ids": Rule("no two calls may have the same id"),
        "stop-reason-known": Rule(
            "the stop reason must be documented", "should", f"{_API}API_runtime_MessageStopEvent.html"
        ),
        "stop-fits-calls": Rule("the stop reason may be `tool_use` only if there is a call"),
        "usage-total": Rule(
            "`totalTokens` must be the sum of input, output and cache",
            "should",
            f"{_API}API_runtime_TokenUsage.html",
        ),
    }
    fields: ClassVar[Mapping[str, tuple[Field, ...]]] = {
        "messageStart": needs('"assistant"', "role"),
        "contentBlockStart": (
            *needs("count", "contentBlockIndex"),
            *needs("object", "start"),
            *needs("name", "start.toolUse.toolUseId", "start.toolUse.name"),
        ),
        "contentBlockDelta": (
            *needs("count", "contentBlockIndex"),
            *needs("object", "delta"),
            *needs("text", "delta.toolUse.input"),
        ),
        "contentBlockStop": needs("count", "contentBlockIndex"),
        "messageStop": needs("name", "stopReason"),
        "metadata": (
            *needs("object", "usage", "metrics"),
            *needs("count", *_COUNTS, "metrics.latencyMs"),
        ),
        "exception": needs("text", "message", level="should"),
    }
    order: ClassVar[Mapping[str, Step]] = {
        "messageStart": step("before", "open", "one-message-start"),
        "contentBlockStart": step("open", None, "message-stop-behind-blocks"),
        "contentBlockDelta": step("open", None, "message-stop-behind-blocks"),
        "contentBlockStop": step("open", None, "message-stop-behind-blocks"),
        "messageStop": step("open", "stopped", "one-message-stop"),
        "metadata": step("stopped", ENDED, "metadata-last"),
        "exception": step("before open stopped", ENDED, "terminal-last"),
    }

    def begin(self) -> None:
        """Initialize the state that is kept between frames."""
        self.blocks = GrammarBlocks()
        self.ids: set[str] = set()
        self.broken_calls: list[str] = []

    def kind_of(self, frame: Frame, payload: Payload) -> str | None:
        """Return the type in the frame's headers; `exception` for a failure."""
        del payload
        headers = frame.headers or {}
        if headers.get(":message-type") in ("exception", "error"):
            return "exception"
        name = headers.get(":event-type")
        return name if isinstance(name, str) else None

    def check_name(self, frame: Frame, kind: str | None) -> Violations:
        """Yield a violation if an exception has an undocumented name."""
        name = (frame.headers or {}).get(":exception-type")
        if kind == "exception" and name not in EXCEPTIONS:
            yield "exception-known", f"it is {format_value(name)}"

    def read(self, kind: str, payload: Payload) -> Violations:
        """Yield violations that no table covers."""
        index = payload.get("contentBlockIndex")
        match kind:
            case "contentBlockStart":
                start = payload.get("start")
                yield from self._start(index, start if isinstance(start, dict) else {})
            case "contentBlockDelta":
                delta = payload.get("delta")
                yield from self._delta(index, delta if isinstance(delta, dict) else {})
            case "contentBlockStop":
                yield from self.blocks.stop(index)
                block = self.blocks.get(index)
                if block and block.kind == "toolUse" and (fault := find_arguments_fault(block.text)):
                    self.broken_calls.append(f"block {index}: {fault}")
            case "messageStop":
                yield from self.blocks.close()
                yield from self._reason(payload.get("stopReason"))
            case "metadata":
                yield from _usage(payload.get("usage"))
            case _:
                pass

    def _start(self, index: Any, start: Mapping[str, Any]) -> Violations:
        kind = next(iter(start), None)
        yield from self.blocks.start(index, kind)
        call = start.get("toolUse")
        name = call.get("toolUseId") if isinstance(call, dict) else None
        if isinstance(name, str):
            if name in self.ids:
                yield "unique-ids", f"`{name}` is repeated"
            self.ids.add(name)

    def _delta(self, index: Any, delta: Mapping[str, Any]) -> Violations:
        known = [key for key in delta if key in DELTAS]
        if len(known) > 1:
            yield "one-delta", f"it has `{'`, `'.join(known)}`"
        for kind in known[:1]:
            if kind != "toolUse" and self.blocks.get(index) is None:
                yield from self.blocks.start(index, kind)  # text and reasoning have no start event
            text = delta.get("toolUse")
            fits = ("text", "citation") if kind in ("text", "citation") else (kind,)
            yield from self.blocks.delta(
                index, kind, fits, text.get("input") if isinstance(text, dict) else ""
            )

    def _reason(self, reason: Any) -> Violations:
        if not isinstance(reason, str):
            return
        if reason not in STOP_REASONS:
            yield "stop-reason-known", f"it is `{reason}`"
        if reason not in CUTTING:
            for message in self.broken_calls:
                yield "arguments-parse", message
        if reason == "tool_use" and not any(
            block.kind == "toolUse" for block in self.blocks.by_index.values()
        ):
            yield "stop-fits-calls", "there is none"


def _usage(usage: Any) -> Violations:
    if not isinstance(usage, dict):
        return
    keys = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
    counts = [usage.get(key) or 0 for key in keys]
    total = usage.get("totalTokens")
    if not adds_up(counts, total):
        yield "usage-total", f"{' + '.join(map(str, counts))} is not {total}"


GRAMMAR: Final = BedrockConverseGrammar
