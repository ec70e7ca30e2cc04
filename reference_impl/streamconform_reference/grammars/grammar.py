"""The strict definition of an API's legal streams: the order of the frames, and the fields of each frame.

A grammar judges servers, while a test case judges clients: a decoder accepts as much as it can, but a grammar
rejects what a provider's own server would never send. It is based on documentation and verified against
recordings of the providers' own servers; a rule that those servers break is left out.

Each API has its tables in `apis/<api>/grammar.py`: `rules` (rule, level and source), `fields` (the fields of
each frame type), and `order` (the states in which each type may appear). Rules that fit no table are in
`read`. Unknown frame types and unknown fields are legal, because providers may add both.

    grammar = GRAMMARS[api](request=body)
    for frame in frames:
        deviations += grammar.receive(frame)
    deviations += grammar.end()
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from streamconform_reference.decoding.decoder import DONE_MARK, Payload
from streamconform_reference.framing import Frame, Framing
from streamconform_reference.grammars.fields import ABSENT, Field, Level, fits, format_value, values_at
from streamconform_reference.json_text import codec

BEFORE: Final = "before"
"""The state before the stream starts."""
ENDED: Final = "ended"
"""The state after the terminal frame."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """A place where a stream deviates from its API's documentation."""

    rule: str
    """A stable id: a key of the grammar's `rules`, or `required-field.` or `field-type.` followed by the
    frame's type and the path."""
    frame: int | None
    """The frame's number, counted from 0; None means the end of the body."""
    message: str
    level: Level
    source: str
    """The provider's page that states the rule."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule. An empty source means the grammar's own page."""

    text: str
    level: Level = "must"
    source: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """The states in which a frame type may appear."""

    states: frozenset[str]
    to: str | None
    """The state after the frame; None keeps the state."""
    broken: str
    """The rule that is violated if the stream has started and is in another state."""


Violation = tuple[str, str]
"""The violated rule, and a message about it."""
Violations = Iterator[Violation]

COMMON: Final[Mapping[str, Rule]] = {
    "framing": Rule("the body must use the framing of the API"),
    "payload-json": Rule("every payload must be JSON"),
    "payload-object": Rule("every payload must be an object"),
    "no-done-marker": Rule("there must be no `[DONE]`"),
    "start-first": Rule("the frame that starts the answer must come first"),
    "one-terminal": Rule("the stream must end with one terminal frame"),
    "terminal-last": Rule("no frame may follow the terminal frame"),
}
"""The rules for every API; an API's own table may override them."""


def step(states: str, to: str | None, broken: str) -> Step:
    """Return a row of an order table; `states` are separated by spaces."""
    return Step(frozenset(states.split()), to, broken)


class Grammar(ABC):
    """Checks one stream, frame by frame. No frame raises."""

    framing_factory: ClassVar[Callable[[], Framing]]
    source: ClassVar[str]
    """The provider's documentation of its streams."""
    rules: ClassVar[Mapping[str, Rule]] = {}
    fields: ClassVar[Mapping[str, tuple[Field, ...]]] = {}
    order: ClassVar[Mapping[str, Step]] = {}
    begun: ClassVar[str] = "open"
    """The state of a stream whose first frame is not the expected one."""

    def __init__(self, request: Mapping[str, Any] | None = None) -> None:
        """Start at the beginning of a stream; `request` is the request body, if it is known."""
        self.request = request or {}
        self.state = BEFORE
        self.frame = -1
        self.begin()

    def begin(self) -> None:  # noqa: B027 - some grammars keep no state
        """Initialize the state that is kept between frames."""

    def receive(self, frame: Frame) -> list[Deviation]:
        """Check the next frame; return the new deviations."""
        self.frame += 1
        return [self._to_deviation(*violations) for violations in self._check_frame(frame)]

    def end(self) -> list[Deviation]:
        """Check the end of the body; return the deviations that concern the entire stream."""
        self.frame += 1
        violations = [*self.finish()]
        if self.state != ENDED:
            last = "the body has no frames" if self.frame == 0 else "the body ends before the terminal frame"
            violations.append(("one-terminal", last))
        return [replace(self._to_deviation(*entry), frame=None) for entry in violations]

    @classmethod
    def of_body(cls, chunks: Iterable[bytes], request: Mapping[str, Any] | None = None) -> list[Deviation]:
        """Return all deviations of a complete body."""
        grammar, framing = cls(request), cls.framing_factory()
        violations: list[Deviation] = []
        for chunk in chunks:
            for frame in framing.receive(chunk):
                violations += grammar.receive(frame)
        for frame in framing.end():
            violations += grammar.receive(frame)
        of_framing = (grammar._to_deviation(*each) for each in grammar.check_framing(framing))
        return [*violations, *(replace(each, frame=None) for each in of_framing), *grammar.end()]

    @abstractmethod
    def kind_of(self, frame: Frame, payload: Payload) -> str | None:
        """Return a frame's type, or None if it has none."""

    def read(self, kind: str, payload: Payload) -> Violations:
        """Yield violations that no table covers, in a frame of a known type."""
        del kind, payload
        yield from ()

    def finish(self) -> Violations:
        """Yield violations at the end of the body, except a missing terminal frame."""
        yield from ()

    def check_framing(self, framing: Framing) -> Violations:
        """Yield what the framing of a complete body has found."""
        if framing.fault is not None or not framing.recognised:
            yield "framing", framing.fault or "it is empty or a document, not a stream"

    def check_done_mark(self) -> Violations:
        """Check `[DONE]`."""
        yield "no-done-marker", "this API does not send `[DONE]`"

    def check_name(self, frame: Frame, kind: str | None) -> Violations:
        """Yield violations in a frame's event name, which comes from the framing."""
        del frame, kind
        yield from ()

    def _check_frame(self, frame: Frame) -> Violations:
        data = frame.data.strip()
        if not data:
            return
        if data == DONE_MARK:
            yield from self.check_done_mark()
            return
        try:
            payload = codec.loads(data)
        except codec.NotJsonError as error:
            yield "payload-json", str(error)
            return
        if not isinstance(payload, dict):
            yield "payload-object", f"it is {format_value(payload)}"
            return
        kind = self.kind_of(frame, payload)
        yield from self.check_name(frame, kind)
        yield from self._check_order(kind)
        if kind is not None:
            yield from self._check_fields(kind, payload)
            yield from self.read(kind, payload)

    def _check_order(self, kind: str | None) -> Violations:
        row = self.order.get(kind or "")
        if self.state == ENDED:
            ends_again = row is not None and row.to == ENDED
            if row is None or self.state not in row.states:
                yield (
                    "one-terminal" if ends_again else "terminal-last",
                    f"`{kind}` comes after the terminal frame",
                )
            return
        if row is None:
            return
        if self.state not in row.states:
            if self.state == BEFORE:
                self.state = self.begun
                yield "start-first", f"the first frame is `{kind}`"
                if self.state not in row.states and row.to == ENDED:
                    yield row.broken, f"`{kind}` comes first"
            else:
                yield row.broken, f"`{kind}` comes in a stream that is {self.state}"
        self.state = row.to or self.state

    def _check_fields(self, kind: str, payload: Payload) -> Violations:
        for field in self.fields.get(kind, ()):
            rule = f"{kind}.{field.path.replace('[]', '')}"
            for value in values_at(payload, field.path):
                if value is ABSENT:
                    if field.needed:
                        yield f"required-field.{rule}", f"`{kind}` has no `{field.path}`"
                elif not fits(field.kind, value):
                    yield (
                        f"field-type.{rule}",
                        f"`{field.path}` is {format_value(value)}, expected {field.kind}",
                    )

    def _to_deviation(self, rule: str, message: str) -> Deviation:
        prefix, _, rest = rule.partition(".")
        if prefix in ("required-field", "field-type"):
            level: Level = next(
                entry.level
                for kind, fields in self.fields.items()
                for entry in fields
                if rest == f"{kind}.{entry.path.replace('[]', '')}"
            )
            return Deviation(rule, self.frame, message, level, self.source)
        expected = self.rules.get(rule) or COMMON[rule]
        return Deviation(
            rule, self.frame, f"{expected.text}; {message}", expected.level, expected.source or self.source
        )


class NamedGrammar(Grammar):
    """The grammar of an API whose events state their type twice: in the payload, and as the event name."""

    def kind_of(self, frame: Frame, payload: Payload) -> str | None:
        """Return the payload's own type."""
        del frame
        kind = payload.get("type")
        return kind if isinstance(kind, str) else None

    def check_name(self, frame: Frame, kind: str | None) -> Violations:
        """Yield a violation if the event name differs from the type."""
        name = None if frame.event is None else frame.event.decode("utf-8", "replace")
        if name != kind:
            yield "event-name", f"`event:` is {'absent' if name is None else f'`{name}`'}, `type` is `{kind}`"


class UnnamedGrammar(Grammar):
    """The grammar of an API whose events have no names."""

    def check_name(self, frame: Frame, kind: str | None) -> Violations:
        """Yield a violation if an event has a name."""
        if frame.event is not None:
            yield "no-event-name", f"the {kind} is named `{frame.event.decode('utf-8', 'replace')}`"


def find_arguments_fault(text: str) -> str | None:
    """Return the reason a text is not valid as arguments, or None if it is an object or blank."""
    if not text.strip():
        return None
    try:
        value = codec.loads_text(text)
    except codec.NotJsonError as error:
        return f"they are not JSON: {error}"
    return None if isinstance(value, dict) else f"they are {format_value(value)}, not an object"
