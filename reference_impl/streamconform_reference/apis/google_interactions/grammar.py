"""The grammar of Gemini's Interactions API: streams as Google's own servers send them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.framing import Frame, Framing
from streamconform_reference.framing.sse import SseFraming
from streamconform_reference.grammars.blocks import RULES as BLOCK_RULES
from streamconform_reference.grammars.blocks import GrammarBlocks
from streamconform_reference.grammars.fields import Field, adds_up, needs, takes
from streamconform_reference.grammars.grammar import (
    ENDED,
    Grammar,
    Rule,
    Step,
    Violations,
    find_arguments_fault,
    step,
)

_INTERACTION: Final = (
    *needs("object", "interaction"),
    *needs("name", "interaction.id", "interaction.model", "interaction.status"),
    *needs('"interaction"', "interaction.object"),
)
_COUNTS: Final = (
    "total_input_tokens",
    "total_output_tokens",
    "total_thought_tokens",
    "total_tool_use_tokens",
)
DELTAS: Final[Mapping[str, tuple[str, tuple[str, ...] | None]]] = {
    "text": ("text", ("model_output",)),
    "text_annotation_delta": ("annotations", ("model_output",)),
    "arguments_delta": ("arguments", None),
    "thought_summary": ("content", ("thought",)),
    "thought_signature": ("signature", ("thought",)),
}
"""Maps a delta type to its field and the types of steps that it may belong to (None for any)."""
FINAL: Final = frozenset(
    [
        "completed",
        "requires_action",
        "requires_continuation",
        "incomplete",
        "budget_exceeded",
        "failed",
        "cancelled",
    ]
)
"""The statuses that end an interaction."""


class GoogleInteractionsGrammar(Grammar):
    """Checks one stream of `POST /v1beta/interactions` with `"stream": true`."""

    framing_factory: ClassVar[Callable[[], Framing]] = SseFraming
    source: ClassVar[str] = "https://ai.google.dev/api/interactions-api"
    rules: ClassVar[Mapping[str, Rule]] = {
        **BLOCK_RULES,
        "event-name": Rule("the name of every event must be its payload's `event_type`"),
        "start-first": Rule("`interaction.created` must come first"),
        "one-created": Rule("there must be exactly one `interaction.created`"),
        "delta-fields": Rule("a delta must have the field for its type"),
        "call-name": Rule("a function call's start must have an id and a name"),
        "arguments-parse": Rule("the joined fragments of a call must be a JSON object", "should"),
        "unique-ids": Rule("no two calls may have the same id"),
        "status-final": Rule("the last event's status must be one that ends an interaction"),
        "status-fits-calls": Rule("the status may be `requires_action` only if there is a function call"),
        "usage-present": Rule(
            "the last event must have the token counts, unless the interaction failed", "should"
        ),
        "usage-total": Rule(
            "`total_tokens` must be the sum of input, output, thoughts and tool use", "should"
        ),
        "id-constant": Rule("every event must name the same interaction", "should"),
        "no-done-marker": Rule("`[DONE]` may come only after the terminal event"),
    }
    fields: ClassVar[Mapping[str, tuple[Field, ...]]] = {
        "interaction.created": _INTERACTION,
        "interaction.status_update": needs("name", "status"),
        "step.start": (*needs("count", "index"), *needs("object", "step"), *needs("name", "step.type")),
        "step.delta": (*needs("count", "index"), *needs("object", "delta"), *needs("name", "delta.type")),
        "step.stop": needs("count", "index"),
        "interaction.completed": (
            *_INTERACTION,
            *takes("object", "interaction.usage"),
            *takes("count", *(f"interaction.usage.{name}" for name in (*_COUNTS, "total_tokens"))),
        ),
        "error": (*needs("object", "error"), *needs("name", "error.code", "error.message")),
    }
    order: ClassVar[Mapping[str, Step]] = {
        "interaction.created": step("before", "open", "one-created"),
        "interaction.status_update": step("open", None, "terminal-last"),
        "step.start": step("open", None, "terminal-last"),
        "step.delta": step("open", None, "terminal-last"),
        "step.stop": step("open", None, "terminal-last"),
        "interaction.completed": step("open", ENDED, "one-terminal"),
        "error": step("before open", ENDED, "one-terminal"),
    }

    def begin(self) -> None:
        """Initialize the state that is kept between frames."""
        self.steps = GrammarBlocks("step")
        self.ids: set[str] = set()
        self.broken_calls: list[str] = []
        self.id: Any = None

    def kind_of(self, frame: Frame, payload: Payload) -> str | None:
        """Return the `event_type`."""
        del frame
        kind = payload.get("event_type")
        return kind if isinstance(kind, str) else None

    def check_name(self, frame: Frame, kind: str | None) -> Violations:
        """Yield a violation if an event's name differs from its type."""
        name = None if frame.event is None else frame.event.decode("utf-8", "replace")
        if name != kind:
            yield "event-name", f"`{str(name)[:60]}` is of type `{kind}`"

    def check_done_mark(self) -> Violations:
        """Check `[DONE]`, which ends every recorded stream."""
        if self.state != ENDED:
            yield "no-done-marker", "`[DONE]` came before `interaction.completed`"

    def read(self, kind: str, payload: Payload) -> Violations:
        """Yield violations that no table covers."""
        index = payload.get("index")
        match kind:
            case "interaction.created":
                self.id = _read_object(payload, "interaction").get("id")
            case "interaction.status_update":
                yield from self._name(payload.get("interaction_id", self.id))
            case "step.start":
                yield from self._start(index, _read_object(payload, "step"))
            case "step.delta":
                yield from self._delta(index, _read_object(payload, "delta"))
            case "step.stop":
                yield from self.steps.stop(index)
                found = self.steps.get(index)
                if found and found.kind == "function_call" and (fault := find_arguments_fault(found.text)):
                    self.broken_calls.append(f"step {index}: {fault}")
            case "interaction.completed":
                yield from self._complete(_read_object(payload, "interaction"))
            case _:
                pass

    def _name(self, name: Any) -> Violations:
        if name != self.id:
            yield "id-constant", f"`{str(name)[:60]}` after `{str(self.id)[:60]}`"

    def _start(self, index: Any, data: Mapping[str, Any]) -> Violations:
        kind = data.get("type")
        yield from self.steps.start(index, kind if isinstance(kind, str) else None)
        if kind != "function_call":
            return
        name, call_id = data.get("name"), data.get("id")
        if not (isinstance(name, str) and name and isinstance(call_id, str) and call_id):
            yield "call-name", f"step {index} lacks one"
        elif call_id in self.ids:
            yield "unique-ids", f"`{call_id[:60]}` is repeated"
        else:
            self.ids.add(call_id)

    def _delta(self, index: Any, delta: Mapping[str, Any]) -> Violations:
        kind = str(delta.get("type"))
        field, fits = DELTAS.get(kind, (None, None))
        yield from self.steps.delta(index, kind, fits, None if field is None else delta.get(field))
        if field is not None and field not in delta:
            yield "delta-fields", f"a `{kind}` has no `{field}`"

    def _complete(self, interaction: Mapping[str, Any]) -> Violations:
        status = interaction.get("status")
        yield from self._name(interaction.get("id"))
        if not isinstance(status, str) or status not in FINAL:
            yield "status-final", f"it is `{str(status)[:60]}`"
        if status == "requires_action" and not self.ids:
            yield "status-fits-calls", "there is none"
        if status in ("completed", "requires_action"):
            yield from self.steps.close()
            for message in self.broken_calls:
                yield "arguments-parse", message
        usage = _read_object(interaction, "usage")
        if status != "failed" and not {"total_input_tokens", "total_output_tokens"} <= usage.keys():
            yield "usage-present", "`usage` lacks a count"
        counts = [usage.get(name, 0) for name in _COUNTS]
        if not adds_up(counts, usage.get("total_tokens")):
            yield "usage-total", f"{' + '.join(map(str, counts))} is not {usage.get('total_tokens')}"


def _read_object(holder: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = holder.get(key)
    return value if isinstance(value, dict) else {}


GRAMMAR: Final = GoogleInteractionsGrammar
