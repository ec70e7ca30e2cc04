"""The record of a conversation with an adapter, as frozen values that have not been judged yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, get_args

from streamconform.adapters.protocol import ProtocolError, parse_object
from streamconform.model.behavior import Control, LogEntry
from streamconform.model.capability import CAPABILITIES, OF_STREAMS
from streamconform.model.trial import Input, Trial

INPUTS: Final[tuple[Input, ...]] = get_args(Input)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleStream:
    """A small stream of one API, and its expected contents."""

    name: str
    trial: Trial
    status: str
    text: str | None = None
    """The text of the stream's only block; None for a call."""
    call: Mapping[str, Any] | None = None
    """The name and arguments of the stream's only call."""

    @property
    def api(self) -> str:
        """Return the recording's API."""
        return self.trial.case.api


@dataclass(frozen=True)
class Message:
    """One line from the program."""

    line: bytes

    @cached_property
    def parsed(self) -> tuple[Mapping[str, Any] | None, str]:
        """Return the object in the line and an empty string, or None and the error."""
        try:
            return parse_object(self.line), ""
        except ProtocolError as error:
            return None, error.message

    @property
    def fields(self) -> Mapping[str, Any]:
        """Return the object in the line; empty if the line is invalid."""
        return self.parsed[0] or {}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """The runs of one step, and every line that the program wrote until all were answered."""

    step: str
    streams: Mapping[str, SampleStream | None]
    """The streams by run id; None if the answer to the run is not checked."""
    output: tuple[Message, ...]
    exit: str | None = None
    """How the program exited during the step, if it did."""
    timed_out: bool = False
    complaints: tuple[str, ...] = ()
    """The replay server's complaints about the HTTP requests."""
    control: Control | None = None
    """What the run asks the adapter to do besides reading an answer."""
    log: tuple[LogEntry, ...] = ()
    """What the server saw of a run with `control`."""
    mismatches: tuple[str, ...] = ()
    """Why requests got no stream: they asked for a different kind of answer than the one recorded."""

    @property
    def results(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the first result of each run, keyed by run id."""
        results: dict[str, Mapping[str, Any]] = {}
        for message in self.output:
            id_ = message.fields.get("id")
            if message.fields.get("op") == "result" and isinstance(id_, str) and id_ in self.streams:
                results.setdefault(id_, message.fields)
        return results

    def find_events(self, id_: str) -> Any:
        """Return the events of a run: those in its result, or else those sent as `event` messages."""
        events = self.results.get(id_, {}).get("events")
        if events is not None:
            return events
        lines = [message.fields for message in self.output if message.fields.get("op") == "event"]
        return [fields.get("event") for fields in lines if fields.get("id") == id_] or None


@dataclass(frozen=True, kw_only=True)
class Transcript:
    """The whole conversation."""

    impl: str
    greeting: Message
    steps: tuple[StepRecord, ...] = ()
    leftover: tuple[Message, ...] = ()
    """The lines written after the last answer."""
    stopped: bool | None = None
    """Whether the program exited by itself after `stop`; None if it exited earlier."""
    exit_code: int | None = None
    timeout: float = 0.0
    """The number of seconds that each answer may take."""
    untried: tuple[str, ...] = ()
    """The steps that were skipped because the program exited or timed out too often."""

    @property
    def hello(self) -> Mapping[str, Any]:
        """Return the greeting; empty if it is invalid."""
        return self.greeting.fields

    @property
    def implementation(self) -> Mapping[str, Any]:
        """Return the name and version that the program reports."""
        implementation = self.hello.get("implementation")
        return implementation if isinstance(implementation, Mapping) else {}


def filter_texts(value: Any) -> tuple[str, ...]:
    """Return the strings in a list; empty if `value` is not a list."""
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def find_input(hello: Mapping[str, Any]) -> Input | None:
    """Return the input mode that a greeting lists first; None if it is unknown."""
    names = hello.get("inputs")
    return (
        "bytes" if names is None else next((mode for mode in INPUTS if mode in filter_texts(names)[:1]), None)
    )


def read_claims(hello: Mapping[str, Any], api: str) -> frozenset[str]:
    """Return the known capabilities claimed for `api`; if nothing is claimed, all stream capabilities."""
    claims = hello.get("capabilities")
    if claims is None:
        return OF_STREAMS
    return frozenset(filter_texts(claims.get(api) if isinstance(claims, Mapping) else claims)) & CAPABILITIES
