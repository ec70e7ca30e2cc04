"""One trial on the server: what it answers, what it was asked, and whether it is over."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any, Final

from streamconform.adapters.feed import Gate
from streamconform.model.trial import AnyTrial, Call, RoundTrip, Trial
from streamconform.replay.canned_replies import make_canned_trial
from streamconform.replay.endpoints import describe_endpoint, match_request
from streamconform.replay.reply import Reply, make_error_reply, make_reply
from streamconform.replay.request import ReceivedRequest

_MAX_REQUESTS: Final = 16
"""Requests of one trial that are kept; whoever asks more often is answered no more."""
_TOO_MANY_REQUESTS: Final = (
    f"it was asked {_MAX_REQUESTS} times, and is answered no more; turn the client's retries off"
)
_MAX_STRAYS: Final = 4
_MAX_SHOWN: Final = 8
"""Requests that results show of a trial."""


@dataclass(slots=True, eq=False)
class TrialExchange:
    """A trial that is on: the same answer to every request, of a round trip the second from then on."""

    base_url: str
    trial: AnyTrial
    gate: Gate | None = None
    time_scale: float = 0.0
    requests: list[tuple[ReceivedRequest, Reply]] = field(default_factory=list)
    """Each request, its target without the prefix, and what was answered."""
    match_request: list[ReceivedRequest] = field(default_factory=list)
    """Those among them that ask the model for an answer."""
    strays: list[str] = field(default_factory=list)
    """What came meanwhile and names no trial, in words."""
    sent: int = 0
    """Chunks of the last answer that have gone."""
    too_often: bool = False
    """Whether it was asked more than `KEPT` times."""
    over: asyncio.Event = field(default_factory=asyncio.Event)
    transports: set[asyncio.WriteTransport] = field(default_factory=set)
    """The connections on which an answer is being sent."""

    def answer(self, received: ReceivedRequest, target: str) -> Reply:
        """Return the answer to a request for `target`, the path below the base URL, and keep both."""
        if len(self.requests) >= _MAX_REQUESTS:
            self.too_often = True
            return make_error_reply(404, _TOO_MANY_REQUESTS, "one request")
        trial = self._answering(target)
        wanted = match_request(trial.case.cassette, received.method, target, received.stream)
        made = make_reply(trial, wanted, received.header("accept-encoding"), self.time_scale)
        self.sent = 0
        kept = replace(received, target=target, rest=b"")
        self.requests.append((kept, made))
        if wanted.kind is not None:
            self.asked.append(kept)
        return made

    def _answering(self, target: str) -> Trial:
        """Return what answers the next request, if it asks the model."""
        match self.trial:
            case RoundTrip(_, first, second):
                return second if self.asked else first
            case Call(case):
                return make_canned_trial(case.api or "", target, case.id, str(case.input["model"]))
            case trial:
                return trial

    def gate_of(self, made: Reply) -> Gate | None:
        """Return the gate that the chunks of an answer go through: only those of the first one do."""
        first = next((each for _, each in self.requests if each.recorded), None)
        return self.gate if made is first else None

    @property
    def unfit(self) -> str | None:
        """Return why nothing can be judged by what was answered, or None."""
        return next((made.unfit for _, made in self.requests if made.unfit), None)

    @property
    def answered(self) -> bool:
        """Return whether anybody was given what was recorded, as a stream or in one piece."""
        return any(made.recorded or made.status < 400 for _, made in self.requests)

    @property
    def complaint(self) -> str | None:
        """Return what was wrong with the requests, or None."""
        if self.too_often:
            return _TOO_MANY_REQUESTS
        wrong = next((made.note for _, made in self.requests if made.note), None)
        if wrong is not None or self.answered:
            return wrong
        wanted = f"expected {describe_endpoint(self.trial.case.api or '')}"
        if self.strays:
            return f"the server got {self.strays[0]}; {wanted}"
        return f"no request came; {wanted}: does the client get the base URL?"

    @property
    def progress(self) -> str:
        """Return how far the last answer has come."""
        count = len(self.requests[-1][1].chunks) if self.requests else 0
        return "the server has sent " + (
            "all of it" if self.sent == count else f"{self.sent} of {count} chunks"
        )

    def has_sent(self, chunks: int) -> None:
        """Note how far the last answer has come."""
        self.sent = chunks

    def stray(self, words: str) -> None:
        """Note what came meanwhile and names no trial."""
        if len(self.strays) < _MAX_STRAYS and words not in self.strays:
            self.strays.append(words)

    @property
    def sent_requests(self) -> tuple[Any, ...]:
        """Return the requests for the model as they are judged, `{"body", "headers", "path"}` each."""
        return tuple(each.as_built for each in self.asked)

    def told(self) -> list[dict[str, Any]]:
        """Return the requests as results show them."""
        return [
            {"method": each.method, "path": each.target[:400], "bytes": each.size, "status": made.status}
            for each, made in self.requests[:_MAX_SHOWN]
        ]

    def end(self) -> None:
        """Say that the trial is over: what is still being sent is sent no further.

        Who sends sees that between two writes. Only where a write waits for a client that does not read is
        the connection reset: one whose answer is all gone may be back in the client's pool already.
        """
        self.over.set()
        for transport in tuple(self.transports):
            if transport.get_write_buffer_size():
                transport.abort()
