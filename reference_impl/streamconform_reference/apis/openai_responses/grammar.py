"""The grammar of OpenAI Responses: streams as OpenAI's own servers send them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.framing import Frame, Framing
from streamconform_reference.framing.sse import SseFraming
from streamconform_reference.framing.websocket import WebSocketFraming
from streamconform_reference.grammars.blocks import RULES as BLOCK_RULES
from streamconform_reference.grammars.blocks import GrammarBlocks
from streamconform_reference.grammars.fields import Field, adds_up, format_value
from streamconform_reference.grammars.grammar import (
    ENDED,
    NamedGrammar,
    Rule,
    Step,
    Violations,
    find_arguments_fault,
)

from .frames import DELTAS, DONES, FIELDS, ORDER, PARTS, SOCKET_FIELDS, SOCKET_ORDER, TERMINALS

_OBJECT: Final = "https://platform.openai.com/docs/api-reference/responses/object"
_SOCKETS: Final = "https://developers.openai.com/api/docs/guides/websocket-mode"


class OpenaiResponsesGrammar(NamedGrammar):
    """Checks one stream of `POST /v1/responses` with `"stream": true`."""

    framing_factory: ClassVar[Callable[[], Framing]] = SseFraming
    source: ClassVar[str] = "https://platform.openai.com/docs/api-reference/responses-streaming"
    rules: ClassVar[Mapping[str, Rule]] = {
        **BLOCK_RULES,
        "event-name": Rule("the name of every event must be its payload's type"),
        "start-first": Rule("`response.created` must come first"),
        "one-created": Rule("there must be exactly one `response.created`"),
        "one-terminal": Rule("the stream must end with `response.completed`, `.incomplete` or `.failed`"),
        "in-progress-early": Rule("`response.in_progress` and `.queued` must come before the first item"),
        "sequence-contiguous": Rule("`sequence_number` must count the events from 0 without gaps"),
        "status-fits": Rule("the status of the response must match its event", source=_OBJECT),
        "id-constant": Rule("every event must name the same response"),
        "item-id-constant": Rule("every event of an item must have the id that the item was added with"),
        "blocks-in-sequence": Rule("an item must be done before the next one is added", "may"),
        "text-sums": Rule("a `.done` event must contain the joined deltas"),
        "done-fits": Rule("a done item must have the type and id that it was added with"),
        "arguments-done": Rule("`response.function_call_arguments.done` must come before its item is done"),
        "arguments-text": Rule("the arguments of an item must be text, but those of a tool search an object"),
        "arguments-parse": Rule("the arguments of a call must be a JSON object", "should"),
        "id-present": Rule("a function call must have a `call_id`", source=_OBJECT),
        "unique-ids": Rule("no two calls may have the same `call_id`", source=_OBJECT),
        "output-complete": Rule("the final response must contain the streamed items", source=_OBJECT),
        "usage-present": Rule(
            "the final response must have the token counts, unless it failed", source=_OBJECT
        ),
        "usage-total": Rule("`total_tokens` must be the sum of input and output", source=_OBJECT),
        "reason-present": Rule("an incomplete response must have a reason", source=_OBJECT),
    }
    fields: ClassVar[Mapping[str, tuple[Field, ...]]] = FIELDS
    order: ClassVar[Mapping[str, Step]] = ORDER

    def begin(self) -> None:
        """Initialize the state that is kept between frames."""
        self.items = GrammarBlocks("item", sequential=True)
        self.parts: dict[tuple[Any, str], GrammarBlocks] = {}
        self.names: dict[int, Any] = {}
        self.calls: dict[str, Any] = {}
        self.id: Any = None
        self.number = 0
        self.errors = 0

    def read(self, kind: str, payload: Payload) -> Violations:
        """Yield violations that no table covers."""
        number = payload.get("sequence_number")
        if type(number) is int:
            if number != self.number:
                yield "sequence-contiguous", f"it is {number}, expected {self.number}"
            self.number = number + 1
        index, item = self._index(kind, payload), payload.get("item")
        response = payload.get("response")
        if isinstance(item, dict) and "arguments" in item and not _is_arguments(item):
            yield "arguments-text", f"item {index} has another value"
        if kind == "error":
            self.errors += 1
        elif isinstance(response, dict):
            yield from self._response(kind, response)
        elif kind == "response.output_item.added" and isinstance(item, dict):
            yield from self._added(index, item)
        elif kind == "response.output_item.done" and isinstance(item, dict):
            yield from self._item_done(index, item)
        elif kind in PARTS:
            space, ends = PARTS[kind]
            parts = self._parts(index, space)
            if ends:
                yield from parts.stop(payload.get(space))
            else:
                part = payload.get("part")
                yield from parts.start(
                    payload.get(space), part.get("type") if isinstance(part, dict) else None
                )
        elif kind in DELTAS:
            yield from self._delta(kind, index, payload)
        elif kind in DONES:
            yield from self._done(kind, index, payload)
        value = payload.get("item_id")
        if isinstance(value, str) and type(index) is int and value != self.names.get(index, value):
            yield "item-id-constant", f"`{value[:40]}` after `{str(self.names[index])[:40]}`"

    def finish(self) -> Violations:
        """Accept an error as the end even if no failed response follows; both forms are documented."""
        if self.errors and self.state != ENDED:
            self.state = ENDED
        yield from ()

    def _index(self, kind: str, payload: Payload) -> int | None:
        """Return the index of an event's item; if it is missing (and reported), find the item by its id."""
        value, item = payload.get("output_index"), payload.get("item")
        if type(value) is int:
            return value
        name = item.get("id") if isinstance(item, dict) else payload.get("item_id")
        if kind == "response.output_item.added":
            return len(self.items.by_index)
        return next((index for index, entry in self.names.items() if entry == name), None)

    def _parts(self, index: Any, space: str) -> GrammarBlocks:
        noun = f"{'part' if space == 'content_index' else 'summary part'} of item {index}:"
        return self.parts.setdefault((index, space), GrammarBlocks(noun))

    def _response(self, kind: str, response: Mapping[str, Any]) -> Violations:
        if self.id is None:
            self.id = response.get("id")
        elif response.get("id") != self.id:
            yield "id-constant", f"`{str(response.get('id'))[:40]}` after `{str(self.id)[:40]}`"
        status = response.get("status")
        wanted = TERMINALS.get(kind)
        if kind not in TERMINALS:
            if status not in ("queued", "in_progress"):
                yield "status-fits", f"it is `{status}` in `{kind}`"
            return
        if status != wanted:
            yield "status-fits", f"it is `{status}` in `{kind}`"
        usage = response.get("usage")
        if kind == "response.failed":
            return
        if kind == "response.completed":  # a truncated answer may leave its last item open
            yield from self.items.close()
        if not isinstance(usage, dict):
            yield "usage-present", f"`usage` of `{kind}` is not an object"
        else:
            parts = [usage.get(key) for key in ("input_tokens", "output_tokens", "total_tokens")]
            if not adds_up(parts[:2], parts[2]):
                yield "usage-total", f"{parts[0]} + {parts[1]} is not {parts[2]}"
        details = response.get("incomplete_details")
        if kind == "response.incomplete" and not (isinstance(details, dict) and details.get("reason")):
            yield "reason-present", "`incomplete_details.reason` is absent"
        yield from self._check_output(response)

    def _check_output(self, response: Mapping[str, Any]) -> Violations:
        output = response.get("output")
        expected = (
            [entry.get("type") for entry in output if isinstance(entry, dict)]
            if isinstance(output, list)
            else []
        )
        streamed = [self.items.by_index[entry].kind for entry in sorted(self.items.by_index)]
        if expected != streamed:
            yield "output-complete", f"it has {expected}, but the stream had {streamed}"

    def _added(self, index: Any, item: Mapping[str, Any]) -> Violations:
        kind, name = item.get("type"), item.get("id")
        yield from self.items.start(index, kind if isinstance(kind, str) else None)
        if type(index) is int and isinstance(name, str):
            self.names[index] = name
        if kind in ("function_call", "custom_tool_call"):
            call = item.get("call_id")
            if not (isinstance(call, str) and call):
                yield "id-present", f"item {index} has none"
            elif call in self.calls:
                yield "unique-ids", f"`{call[:60]}` belongs to items {self.calls[call]} and {index}"
            else:
                self.calls[call] = index

    def _item_done(self, index: Any, item: Mapping[str, Any]) -> Violations:
        for space in ("content_index", "summary_index"):
            if (index, space) in self.parts:
                yield from self.parts[index, space].close()
        block = self.items.get(index)
        yield from self.items.stop(index)
        if block is None:
            return
        if block.kind is not None and item.get("type") != block.kind:
            yield "done-fits", f"item {index} is `{item.get('type')}`, but was `{block.kind}`"
        if type(index) is int and item.get("id") != self.names.get(index, item.get("id")):
            yield (
                "done-fits",
                f"item {index} is `{str(item.get('id'))[:40]}`, but was `{self.names[index][:40]}`",
            )
        if block.kind != "function_call":
            return
        text = item.get("arguments")
        cut = item.get("status") == "incomplete"
        if "response.function_call_arguments.done" not in block.seen and not cut:
            yield "arguments-done", f"it is missing for item {index}"
        if isinstance(text, str) and block.pieces and block.text != text:
            yield "text-sums", f"the arguments of item {index} are not the joined deltas"
        fault = find_arguments_fault(text) if isinstance(text, str) and text.strip() else "there are none"
        if fault and not cut:
            yield "arguments-parse", f"item {index}: {fault}"

    def _delta(self, kind: str, index: Any, payload: Payload) -> Violations:
        space, items, parts = DELTAS[kind]
        piece = payload.get("delta")
        yield from self.items.delta(index, kind, items, piece if space is None else "")
        if space is not None:
            yield from self._parts(index, space).delta(payload.get(space), kind, parts, piece)

    def _done(self, kind: str, index: Any, payload: Payload) -> Violations:
        field, delta = DONES[kind]
        space, items, parts = DELTAS[delta]
        block = self.items.get(index) if space is None else self._parts(index, space).get(payload.get(space))
        text = payload.get(field)
        joined = "" if block is None else block.text
        if block is not None and isinstance(text, str) and text != joined:
            yield "text-sums", f"`{field}` has {len(text)} characters, but the deltas have {len(joined)}"
        if space is None:
            yield from self.items.delta(index, kind, items)
        else:
            yield from self._parts(index, space).delta(payload.get(space), kind, parts)


def _is_arguments(item: Mapping[str, Any]) -> bool:
    """Return whether an item's arguments have the form that its type gives them."""
    return isinstance(item["arguments"], dict if item.get("type") == "tool_search_call" else str)


class OpenaiResponsesSocketGrammar(OpenaiResponsesGrammar):
    """Checks the messages of one response over a WebSocket, on which there is no other at the same time."""

    framing_factory: ClassVar[Callable[[], Framing]] = WebSocketFraming
    source: ClassVar[str] = _SOCKETS
    rules: ClassVar[Mapping[str, Rule]] = {
        **{name: rule for name, rule in OpenaiResponsesGrammar.rules.items() if name != "event-name"},
        "text-messages": Rule("every event must be a message of text, in UTF-8"),
        "lane-constant": Rule(
            "every event must have the `stream_id` of its request, or none if that has none"
        ),
    }
    fields: ClassVar[Mapping[str, tuple[Field, ...]]] = SOCKET_FIELDS
    order: ClassVar[Mapping[str, Step]] = SOCKET_ORDER

    def check_name(self, frame: Frame, kind: str | None) -> Violations:
        """Yield a violation if the message is not UTF-8; it has no name besides its type."""
        del kind
        try:
            frame.data.decode()
        except UnicodeDecodeError as error:
            yield "text-messages", f"it is not UTF-8 ({error.reason} at byte {error.start})"

    def check_framing(self, framing: Framing) -> Violations:
        """Yield what the framing has found, and the messages that are not text."""
        yield from super().check_framing(framing)
        if isinstance(framing, WebSocketFraming) and framing.binary_messages:
            yield "text-messages", f"{framing.binary_messages} are binary"

    def read(self, kind: str, payload: Payload) -> Violations:
        """Yield violations that no table covers."""
        lane, expected = payload.get("stream_id"), self.request.get("stream_id")
        if lane != expected and not (kind == "error" and lane is None):  # which is the connection's
            yield "lane-constant", f"it is {format_value(lane)} in `{kind}`, not {format_value(expected)}"
        yield from super().read(kind, payload)

    def _check_output(self, response: Mapping[str, Any]) -> Violations:
        # The last event may leave it out.
        if "output" in response:
            yield from super()._check_output(response)


GRAMMAR: Final = OpenaiResponsesGrammar
SOCKET_GRAMMAR: Final = OpenaiResponsesSocketGrammar
