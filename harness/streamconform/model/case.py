"""A case: one named expectation for a cassette, a function call or a round trip (`spec.v1.json`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from msgspec import Struct

from streamconform.model.behavior import Control, ScriptedReply
from streamconform.model.cassette import Cassette, Transport
from streamconform.model.growth import Growth
from streamconform.model.leaf import AnyOf, Leaf, Literally
from streamconform.model.outcome import BlockType, Usage
from streamconform.model.request import RequestExpectation

Level = Literal["must", "should", "may"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""From strictest to loosest."""
Kind = Literal["heal", "partial", "assemble", "tokens", "request"]
"""The kinds of spec whose cases call a function and have no bytes."""
Function = Literal["heal", "partial", "assemble", "count_tokens", "build_request"]


class ExpectedBlock(Struct, frozen=True):
    """An expected content block, with one leaf per judged field."""

    type: BlockType
    fields: Mapping[str, Leaf]


class Partial(Struct, frozen=True):
    """Marks the expectation of a broken stream: any prefix of the content is correct."""

    calls_ended: int
    """Number of tool calls that ended before the break; at most this many may be executable."""
    text_arrived: int = 0
    """Minimum number of text characters that arrived before the break."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """An expected outcome.

    `fields` maps the paths outside the content (`stop.reason`, `usage.input`) to their leaves; other paths
    are not judged. If `content` is None, the content is not judged either.
    """

    content: tuple[ExpectedBlock, ...] | None
    fields: Mapping[str, Leaf]
    partial: Partial | None = None


NOTHING_EXPECTED: Final = Expectation(None, {})
"""The expectation for a recording without a spec, which is judged only by the invariants."""


class Skip(Struct, frozen=True):
    """Deliveries and faults to skip because they would change the meaning of the case."""

    why: str
    deliveries: frozenset[str] = frozenset()
    faults: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseHead:
    """The fields common to all kinds of case."""

    id: str
    """`api/topic/id`, unique in the suite; `common/topic/id` for a case without an API."""
    api: str | None
    title: str
    level: Level = "must"
    why: str | None = None
    reviewed: bool = True
    tags: frozenset[str] = frozenset()
    evidence: tuple[str, ...] = ()
    """Names of the facts that support the expectation (`suite.evidence`)."""
    sources: tuple[str, ...] = ()
    """Further links."""
    guards: tuple[str, ...] = ()
    path: str = ""
    """The spec file, for messages."""
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Case(CaseHead):
    """An expectation for the bytes of a cassette."""

    api: str
    cassette: Cassette
    expect: Expectation
    pricing: Mapping[str, Any] | None = None
    usage_seen: tuple[Usage, ...] = ()
    models_seen: tuple[str, ...] = ()
    seen_in: str | None = None
    """The id of a case whose stream is real and has every field of this case's stream."""
    skip: Skip | None = None
    stream: bool = True
    """False for a non-streaming answer; the cassette's body is then the complete document."""
    unavailable: str | None = None
    """The reason for skipping the case if its recording has not been pulled to this machine."""
    growth: Growth | None = None
    """How the delivered stream is made from the cassette's, if it is another one."""


CountOrder = Literal["equal", "increasing", "non_decreasing"]


class Counts(Struct, frozen=True):
    """The function is called once per input; the results must be non-negative integers in this `order`."""

    order: CountOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCase(CaseHead):
    """An expectation for a function's output; the case has no bytes and no deliveries."""

    kind: Kind
    input: Any
    """The function's input; for kind `request`, a conversation (`conversation.v1.json`).

    If `expect` is `Counts`, a list of inputs.
    """
    expect: Literally | AnyOf | Counts | RequestExpectation
    """The expected return value, the expected order of several return values, or the expected request."""


class Turn(Struct, frozen=True):
    """What the client adds to the conversation after an answer; with neither, it lets the answer go on."""

    results: tuple[Mapping[str, Any], ...] = ()
    """`{name, content, error?}`: the results of the answer's tool calls."""
    messages: tuple[Mapping[str, Any], ...] = ()
    """The messages after the results, as in a conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTripCase(CaseHead):
    """Several requests and their answers; each later request contains the answer to the one before it.

    A spec of kind `round_trip` has two requests, one of kind `replay` any number.
    """

    api: str
    answers: tuple[Case, ...]
    """The answers to the requests; each but the last may have no expectation."""
    conversation: Mapping[str, Any]
    """The conversation for the first request (`conversation.v1.json`)."""
    turns: tuple[Turn, ...]
    """What the client adds after each answer but the last."""
    requests: tuple[RequestExpectation, ...]
    """The expected requests after the first."""
    bound: bool = False
    """Whether the provider rejects thinking that comes after other content than when it was made."""

    @property
    def transport(self) -> Transport:
        """Return what carries the requests and answers; one WebSocket carries all of them."""
        return self.answers[0].cassette.transport

    @property
    def answer_names(self) -> tuple[str, ...]:
        """Return the name of each answer in the paths of checks."""
        earlier = range(len(self.answers) - 1)
        return (*(["first"] if len(earlier) == 1 else (f"answers.{i}" for i in earlier)), "outcome")

    @property
    def request_names(self) -> tuple[str, ...]:
        """Return the name of each request after the first in the paths of checks."""
        if len(self.requests) == 1:
            return ("request",)
        return tuple(f"requests.{i}" for i in range(1, len(self.answers)))


OutcomeRule = Literal["whole", "error", "whole-or-error", "beginning", "any"]
"""What an outcome may be: the whole answer, the error of the last reply, either, or no more than the answer.

`beginning` accepts the whole answer too: a client that starts again and hands out the text once is correct.
"""


class BehaviorExpectation(Struct, frozen=True):
    """What is expected of a client's connections and requests, and of its outcomes."""

    outcome: OutcomeRule = "any"
    closed: bool = False
    """Whether the client must close the connection of the first answer, which does not end."""
    reused: bool | None = None
    """True: a later request uses an open connection again. False: none does if its answer has not ended."""
    requests: int | None = None
    """The maximum number of requests."""
    unrepeated: bool = False
    """Whether a second request is allowed only if the outcome is one whole answer."""
    bounded: bool = False
    """Whether a client that does not read must let the server wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BehaviorCase(CaseHead):
    """An expectation for what a client does on its connections; only a server sees it.

    Judged by the order of what happens, never by time.
    """

    api: str
    control: Control
    streams: Mapping[str, Case]
    """The answers that the server can give, by role: `text`, `call`, `error`."""
    halves: Mapping[str, int]
    """By role, the number of frames in the first half of the stream."""
    replies: tuple[ScriptedReply, ...]
    """What the server does with each request, in the order in which they arrive."""
    expect: BehaviorExpectation

    @property
    def main(self) -> Case:
        """Return the stream of the first answer, for whose request the client is asked."""
        roles = (reply.stream for reply in self.replies if reply.stream != "error")
        return self.streams[next(roles, "text")]

    def find_reply(self, number: int) -> ScriptedReply:
        """Return the reply to a request, counted from 1.

        After the last, the first follows if the client is asked for several answers, or else the last again.
        """
        count = len(self.replies)
        return self.replies[(number - 1) % count if self.control.answers > 1 else min(number, count) - 1]


AnyCase = Case | CallCase | RoundTripCase | BehaviorCase
