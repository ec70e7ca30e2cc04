"""The grammar of Anthropic Messages: streams as Anthropic's own servers send them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.framing import Framing
from streamconform_reference.framing.sse import SseFraming
from streamconform_reference.grammars.blocks import RULES as BLOCK_RULES
from streamconform_reference.grammars.blocks import GrammarBlocks
from streamconform_reference.grammars.fields import Field, needs, takes
from streamconform_reference.grammars.grammar import (
    ENDED,
    NamedGrammar,
    Rule,
    Step,
    Violations,
    find_arguments_fault,
    step,
)

_STOPS: Final = "https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons"
_IDS: Final = "https://docs.claude.com/en/api/messages"
_USAGE: Final = "message.usage"

DELTAS: Final[Mapping[str, tuple[str, tuple[str, ...] | None]]] = {
    "text_delta": ("text", ("text",)),
    "citations_delta": ("citation", ("text",)),
    "input_json_delta": ("partial_json", ("tool_use", "server_tool_use", "mcp_tool_use")),
    "thinking_delta": ("thinking", ("thinking",)),
    "signature_delta": ("signature", ("thinking",)),
    "compaction_delta": ("content", ("compaction",)),
}
"""Maps a delta type to its field and the block types that it may belong to."""
STARTS: Final[Mapping[str, Mapping[str, type]]] = {
    "text": {"text": str},
    "thinking": {"thinking": str, "signature": str},
    "redacted_thinking": {"data": str},
    "tool_use": {"id": str, "name": str, "input": dict},
    "server_tool_use": {"id": str, "name": str, "input": dict},
}
"""Maps a block type to the fields of its start."""
STOP_REASONS: Final = frozenset(
    [
        "end_turn",
        "stop_sequence",
        "max_tokens",
        "tool_use",
        "pause_turn",
        "refusal",
        "model_context_window_exceeded",
        "compaction",
    ]
)
CUTTING: Final = frozenset({"max_tokens", "model_context_window_exceeded", "refusal", "pause_turn"})
"""Stop reasons after which the last call may be truncated."""


class AnthropicMessagesGrammar(NamedGrammar):
    """Checks one stream of `POST /v1/messages` with `"stream": true`."""

    framing_factory: ClassVar[Callable[[], Framing]] = SseFraming
    source: ClassVar[str] = "https://platform.claude.com/docs/en/build-with-claude/streaming"
    rules: ClassVar[Mapping[str, Rule]] = {
        **BLOCK_RULES,
        "event-name": Rule("the name of every event must be its payload's type"),
        "start-first": Rule("`message_start` must come before everything except `ping`"),
        "one-message-start": Rule("there must be exactly one `message_start`"),
        "message-delta-last": Rule("every block must come before `message_delta`"),
        "message-delta-before-stop": Rule(
            "a `message_delta` with a stop reason and usage must precede `message_stop`"
        ),
        "block-fields": Rule("a block's start must have the fields of its type"),
        "delta-fields": Rule("a delta must have the field for its type"),
        "arguments-parse": Rule("the joined fragments of a call must be a JSON object"),
        "id-present": Rule("a call must have an id"),
        "id-form": Rule("ids must start with `msg_` or `toolu_`", "may", _IDS),
        "unique-ids": Rule("no two calls may have the same id"),
        "signature-present": Rule("a thinking block must end with its signature", "should"),
        "no-empty-block": Rule("a text block must have text when it ends", "should"),
        "stop-reason-present": Rule("a `message_delta` must have the stop reason", source=_STOPS),
        "stop-reason-known": Rule("the stop reason must be documented", "should", _STOPS),
        "stop-fits-calls": Rule(
            "the stop reason must be `tool_use` if and only if there is a call for the client", source=_STOPS
        ),
    }
    fields: ClassVar[Mapping[str, tuple[Field, ...]]] = {
        "message_start": (
            *needs("object", "message", _USAGE),
            *needs("name", "message.id", "message.model"),
            *needs('"message"', "message.type"),
            *needs('"assistant"', "message.role"),
            *needs("empty list", "message.content"),
            *needs("null", "message.stop_reason", "message.stop_sequence"),
            *needs("count", f"{_USAGE}.input_tokens", f"{_USAGE}.output_tokens"),
        ),
        "content_block_start": (
            *needs("count", "index"),
            *needs("object", "content_block"),
            *needs("name", "content_block.type"),
        ),
        "content_block_delta": (
            *needs("count", "index"),
            *needs("object", "delta"),
            *needs("name", "delta.type"),
        ),
        "content_block_stop": needs("count", "index"),
        "message_delta": (
            *needs("object", "delta", "usage"),
            *needs("text or null", "delta.stop_reason", "delta.stop_sequence"),
            *needs("count", "usage.output_tokens"),
            *takes("count or null", "usage.input_tokens"),
        ),
        "error": (*needs("object", "error"), *needs("name", "error.type", "error.message")),
    }
    order: ClassVar[Mapping[str, Step]] = {
        "message_start": step("before", "open", "one-message-start"),
        "content_block_start": step("open", None, "message-delta-last"),
        "content_block_delta": step("open", None, "message-delta-last"),
        "content_block_stop": step("open", None, "message-delta-last"),
        "message_delta": step("open closing", "closing", "start-first"),
        "message_stop": step("closing", ENDED, "message-delta-before-stop"),
        "error": step("before open closing", ENDED, "terminal-last"),
    }

    def begin(self) -> None:
        """Initialize the state that is kept between frames."""
        self.blocks = GrammarBlocks()
        self.calls: dict[str, int] = {}
        self.broken_calls: list[str] = []
        self.reason: str | None = None
        tools = self.request.get("tools")
        # https://platform.claude.com/docs/en/agents-and-tools/tool-use/fine-grained-tool-streaming
        self.unchecked = isinstance(tools, list) and any(
            isinstance(tool, dict) and tool.get("eager_input_streaming") for tool in tools
        )

    def read(self, kind: str, payload: Payload) -> Violations:
        """Yield violations that no table covers."""
        index = payload.get("index")
        match kind:
            case "message_start":
                message = payload.get("message")
                yield from _form(message.get("id") if isinstance(message, dict) else None, "msg_")
            case "content_block_start":
                yield from self._start(index, payload.get("content_block"))
            case "content_block_delta":
                yield from self._delta(index, payload.get("delta"))
            case "content_block_stop":
                yield from self.blocks.stop(index)
                yield from self._stopped(index)
            case "message_delta":
                yield from self.blocks.close()
                delta = payload.get("delta")
                yield from self._reason(delta.get("stop_reason") if isinstance(delta, dict) else None)
            case "message_stop" if self.reason is None:
                yield "stop-reason-present", "none has one"
            case _:
                pass

    def _start(self, index: Any, block: Any) -> Violations:
        if not isinstance(block, dict):
            return
        kind = block.get("type")
        yield from self.blocks.start(index, kind if isinstance(kind, str) else None)
        for key, expected in STARTS.get(str(kind), {}).items():
            if not isinstance(block.get(key), expected):
                problem = "is absent" if key not in block else "is of another type"
                yield "block-fields", f"`{key}` of block {index}, a `{kind}`, {problem}"
        if kind == "tool_use":
            name = block.get("id")
            if not name:
                yield "id-present", f"the call in block {index} has none"
            elif isinstance(name, str):
                yield from _form(name, "toolu_")
                if name in self.calls:
                    yield "unique-ids", f"blocks {self.calls[name]} and {index} have the id `{name}`"
                self.calls.setdefault(name, index if type(index) is int else -1)
            else:
                return

    def _delta(self, index: Any, delta: Any) -> Violations:
        if not isinstance(delta, dict):
            return
        kind = str(delta.get("type"))
        field, fits = DELTAS.get(kind, (None, None))
        piece = None if field is None else delta.get(field)
        yield from self.blocks.delta(index, kind, fits, piece)
        if field is not None and field not in delta:
            yield "delta-fields", f"a `{kind}` has no `{field}`"
        elif field not in (None, "citation", "content") and not isinstance(piece, str):
            yield "delta-fields", f"`{field}` of a `{kind}` is not text"

    def _stopped(self, index: Any) -> Violations:
        block = self.blocks.get(index)
        if block is None:
            return
        if block.kind == "text" and not block.text and not block.seen & {"citations_delta"}:
            yield "no-empty-block", f"block {index} has none"
        if block.kind == "thinking" and "signature_delta" not in block.seen:
            yield "signature-present", f"block {index} has none"
        if block.kind == "tool_use" and (fault := find_arguments_fault(block.text)):
            self.broken_calls.append(f"block {index}: {fault}")

    def _reason(self, reason: Any) -> Violations:
        if not isinstance(reason, str):
            return
        self.reason = reason
        if reason not in STOP_REASONS:
            yield "stop-reason-known", f"it is `{reason}`"
        if reason not in CUTTING and not self.unchecked:
            for message in self.broken_calls:
                yield "arguments-parse", message
        self.broken_calls.clear()
        called = any(block.kind == "tool_use" for block in self.blocks.by_index.values())
        if (reason == "tool_use") != called and reason in ("tool_use", "end_turn"):
            message = "there is a call for the client" if called else "there is no call for the client"
            yield "stop-fits-calls", f"it is `{reason}`, but {message}"


def _form(value: Any, prefix: str) -> Violations:
    if isinstance(value, str) and value and not value.startswith(prefix):
        yield "id-form", f"`{value[:40]}` does not start with `{prefix}`"


GRAMMAR: Final = AnthropicMessagesGrammar
