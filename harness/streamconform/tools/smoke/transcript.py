"""What was said in a conversation with an adapter: frozen values, nothing judged yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, get_args

from streamconform.adapters.protocol import ProtocolError, parse_object
from streamconform.model.capability import CAPABILITIES
from streamconform.model.trial import Input, Trial

INPUTS: Final[tuple[Input, ...]] = get_args(Input)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A small stream of one api, and what anybody reads in it."""

    name: str
    trial: Trial
    status: str
    text: str | None = None
    """The text that its only block has; None where it is a call."""
    call: Mapping[str, Any] | None = None
    """Name and arguments of its only call."""

    @property
    def api(self) -> str:
        """Return the api of the recording."""
        return self.trial.case.api


@dataclass(frozen=True)
class Message:
    """One line from the program."""

    line: bytes

    @cached_property
    def read(self) -> tuple[Mapping[str, Any] | None, str]:
        """Return the object in the line and no words, or None and what is wrong."""
        try:
            return parse_object(self.line), ""
        except ProtocolError as fault:
            return None, fault.message

    @property
    def object(self) -> Mapping[str, Any]:
        """Return the object in the line, an empty one where there is none."""
        return self.read[0] or {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One or several runs that were asked together, and every line that came until all were answered."""

    step: str
    asked: Mapping[str, Stream | None]
    """By the id of the run; None for one that has no stream of a known api."""
    said: tuple[Message, ...]
    ended: str | None = None
    """How the program ended meanwhile."""
    late: bool = False
    """Whether not everything was answered in time."""
    complaints: tuple[str, ...] = ()
    """What the server has to say of the requests for it, over HTTP."""
    mismatches: tuple[str, ...] = ()
    """Why requests got no stream: they ask for another kind of answer than the recorded one."""

    @property
    def results(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the first result of each run, by id."""
        found: dict[str, Mapping[str, Any]] = {}
        for message in self.said:
            id_ = message.object.get("id")
            if message.object.get("op") == "result" and isinstance(id_, str) and id_ in self.asked:
                found.setdefault(id_, message.object)
        return found

    def events(self, id_: str) -> Any:
        """Return the events of a run: of its result, else those that came on lines of their own."""
        given = self.results.get(id_, {}).get("events")
        if given is not None:
            return given
        lines = [each.object for each in self.said if each.object.get("op") == "event"]
        return [each.get("event") for each in lines if each.get("id") == id_] or None


@dataclass(frozen=True, kw_only=True)
class Transcript:
    """The whole conversation."""

    impl: str
    greeting: Message
    exchanges: tuple[Exchange, ...] = ()
    leftover: tuple[Message, ...] = ()
    """Lines that came after everything was answered."""
    stopped: bool | None = None
    """Whether it ended by itself after `stop`; None where it was gone before."""
    code: int | None = None
    seconds: float = 0.0
    """How long an answer was waited for."""
    untried: tuple[str, ...] = field(default=())
    """Steps that were not taken, because the program had ended or hung too often."""

    @property
    def hello(self) -> Mapping[str, Any]:
        """Return the greeting, an empty mapping where it is none."""
        return self.greeting.object

    @property
    def implementation(self) -> Mapping[str, Any]:
        """Return what it says of itself."""
        given = self.hello.get("implementation")
        return given if isinstance(given, Mapping) else {}


def texts(value: Any) -> tuple[str, ...]:
    """Return the texts in a list, whatever `value` is."""
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def fed(hello: Mapping[str, Any]) -> Input | None:
    """Return how somebody who greets with `hello` is fed: by what it names first; None where nobody can."""
    given = hello.get("inputs")
    return "bytes" if given is None else next((each for each in INPUTS if each in texts(given)[:1]), None)


def claimed(hello: Mapping[str, Any], api: str) -> frozenset[str]:
    """Return the known capabilities that a greeting claims for `api`; absent means all of them."""
    given = hello.get("capabilities")
    if given is None:
        return frozenset(CAPABILITIES)
    return frozenset(texts(given.get(api) if isinstance(given, Mapping) else given)) & CAPABILITIES
