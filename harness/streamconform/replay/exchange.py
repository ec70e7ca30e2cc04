"""One trial on the server: its answers, the requests it received, and whether it has ended."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any, Final

from streamconform.adapters.feed import Gate
from streamconform.adapters.interface import ServerRecord
from streamconform.apis import APIS
from streamconform.model.cassette import Cassette
from streamconform.model.trial import AnyTrial, Behavior, Call, RoundTrip, Trial
from streamconform.replay.canned_replies import make_canned_trial
from streamconform.replay.endpoints import (
    RequestMatch,
    describe_endpoint,
    is_stream_target,
    match_request,
    refuse_transport,
    require_opt_ins,
)
from streamconform.replay.reply import STREAM_REQUESTED, Reply, make_error_reply, make_reply
from streamconform.replay.request import MAX_KEPT_BODY, ReceivedRequest

MAX_REQUESTS: Final = 16
"""Maximum requests to answer per trial; the limit stops clients that retry endlessly."""
NO_REQUEST: Final = "no request arrived"
_TOO_MANY_REQUESTS: Final = (
    f"the server got more than {MAX_REQUESTS} requests for one trial and stopped answering;"
    " disable the client's retries"
)
_MAX_STRAYS: Final = 4
"""Maximum number of requests to keep that belong to no trial."""
_MAX_SHOWN: Final = 8
"""Maximum requests to list in the result of a trial."""


@dataclass(slots=True, eq=False)
class TrialExchange:
    """A trial in progress: each request gets its answer; in a round trip, each gets the next one."""

    base_url: str
    trial: AnyTrial
    gate: Gate | None = None
    time_scale: float = 0.0
    requests: list[tuple[ReceivedRequest, Reply]] = field(default_factory=list)
    """The requests, each with its target below the base URL and the reply to it."""
    model_requests: list[ReceivedRequest] = field(default_factory=list)
    """The requests for a model's answer."""
    strays: list[str] = field(default_factory=list)
    """Descriptions of requests that arrived during the trial but belong to no trial."""
    sent: int = 0
    """The number of chunks of the last reply that have been sent."""
    continued: bool = False
    """Whether the client sent the trial's answer back and received a canned final answer."""
    has_too_many: bool = False
    """Whether there were more than `MAX_REQUESTS` requests."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    transports: set[asyncio.WriteTransport] = field(default_factory=set)
    """The connections on which a reply is being sent."""

    def answer(self, received: ReceivedRequest, target: str) -> Reply:
        """Return the reply to a request for `target`, the path below the base URL, and record both."""
        # The path alone selects the trial, never the request's content: a client that sends another prompt,
        # or several requests at once, still gets its trial's answer.
        if len(self.requests) >= MAX_REQUESTS:
            self.has_too_many = True
            # 404, because SDKs retry 429 and 5xx.
            return make_error_reply(404, _TOO_MANY_REQUESTS, "one request")
        if received.is_cut:
            return self._refuse_large_request(received, target)
        trial = self._choose_trial(received, target)
        cassette = trial.case.cassette
        match = self._match(received, target, cassette)
        # A conversation of a round trip is given to the client without the options of the recorded request.
        if isinstance(self.trial, Trial):
            match = require_opt_ins(match, cassette, received.json)
        reply = make_reply(trial, match, received.header("accept-encoding"), self.time_scale)
        self.sent = 0
        # Stored without `rest`, which belongs to the next request and would otherwise be kept for the whole
        # trial.
        request = replace(received, target=target, rest=b"")
        self.requests.append((request, reply))
        # Some clients first request something else, such as the list of models.
        if match.kind is not None:
            self.model_requests.append(request)
        return reply

    def _match(self, received: ReceivedRequest, target: str, cassette: Cassette) -> RequestMatch:
        if received.transport != self.trial.transport:
            return refuse_transport(cassette, received.method, target)
        # A message is the body of a request.
        method = "POST" if received.transport == "websocket" else received.method
        return match_request(cassette, method, target, received.stream, document=self.is_document)

    def accepts_handshake(self, received: ReceivedRequest, target: str) -> bool:
        """Return whether the client may go on over a WebSocket."""
        if self.trial.transport != "websocket" or not received.is_handshake:
            return False
        return is_stream_target(self._choose_trial(received, target).case.cassette, target)

    def _refuse_large_request(self, received: ReceivedRequest, target: str) -> Reply:
        """Return the reply to a request whose body is too large; this does not count against the client."""
        message = f"the request body has more than {MAX_KEPT_BODY:,} bytes, the replay server's limit"
        # Like other mismatches, this skips the trial.
        reply = make_error_reply(413, message, "a smaller request", note=message, mismatch=message)
        self.requests.append((replace(received, target=target, body=b"", rest=b""), reply))
        return reply

    def _choose_trial(self, received: ReceivedRequest, target: str) -> Trial:
        """Return the trial that answers the next request, if that is a request to the model."""
        match self.trial:
            case RoundTrip(_, answers):
                # Whoever sends more requests than that gets the last answer again.
                return answers[min(len(self.model_requests), len(answers) - 1)]
            case Call(case):
                return make_canned_trial(case.api or "", target, case.id, str(case.input["model"]))
            case Behavior():
                raise AssertionError("a script chooses its own streams")
            case trial:
                # A client that sends back a paused answer or tool results would get the same stream again and
                # loop forever. A retry, which has the same body, does get it again.
                if self.model_requests and APIS[trial.case.api].requests.continues(
                    self.model_requests[0].json, received.json
                ):
                    self.continued = True
                    model = str(trial.case.cassette.request.body.get("model") or trial.case.api)
                    return make_canned_trial(trial.case.api, target, trial.case.id, model, trial.transport)
                return trial

    def get_gate(self, reply: Reply) -> Gate | None:
        """Return the gate for the chunks of `reply`; only the first recorded reply has a gate."""
        # The gate counts the chunks of one reply, but a retry receives them all again.
        first = next((made for _, made in self.requests if made.recorded), None)
        return self.gate if reply is first else None

    @property
    def mismatch(self) -> str | None:
        """Return the reason why the replies cannot be judged, or None."""
        return next((reply.mismatch for _, reply in self.requests if reply.mismatch), None)

    @property
    def answered(self) -> bool:
        """Return whether any reply contained the recorded answer, as a stream or as a document."""
        return any(reply.recorded or reply.status < 400 for _, reply in self.requests)

    @property
    def is_document(self) -> bool:
        """Return whether the trial tests a non-streaming answer."""
        return isinstance(self.trial, Trial) and not self.trial.case.stream

    @property
    def wants_wrong_form(self) -> bool:
        """Return whether the client requested a stream in a trial that tests a non-streaming answer."""
        return not self.answered and any(reply.note == STREAM_REQUESTED for _, reply in self.requests)

    @property
    def complaint(self) -> str | None:
        """Return a message about invalid requests, or None."""
        if self.has_too_many:
            return _TOO_MANY_REQUESTS
        note = next((reply.note for _, reply in self.requests if reply.note), None)
        if note is not None or self.answered:
            return note
        api, transport = self.trial.case.api or "", self.trial.transport
        expected = f"expected {describe_endpoint(api, document=self.is_document, transport=transport)}"
        if self.strays:
            return f"the server got {self.strays[0]}; {expected}"
        return f"{NO_REQUEST}; {expected}; check that the client uses the base URL"

    @property
    def progress(self) -> str:
        """Return a message about how much of the last reply has been sent."""
        count = len(self.requests[-1][1].chunks) if self.requests else 0
        part = "the whole answer" if self.sent == count else f"{self.sent} of {count} chunks"
        status = self.requests[-1][1].status if self.requests else 200
        # Clients wait before they retry, often longer than any timeout; the retry would get the same answer.
        hint = f"; it answered HTTP {status}, so turn the client's retries off" if status >= 400 else ""
        return f"the server has sent {part}{hint}"

    def note_sent(self, chunks: int) -> None:
        """Record that `chunks` chunks of the last reply have been sent."""
        self.sent = chunks

    def note_stray(self, description: str) -> None:
        """Record a request that arrived during the trial but belongs to no trial."""
        if len(self.strays) < _MAX_STRAYS and description not in self.strays:
            self.strays.append(description)

    @property
    def sent_requests(self) -> tuple[Any, ...]:
        """Return the requests for a model's answer, each in the judged form `{"body", "headers", "path"}`."""
        return tuple(request.as_built for request in self.model_requests)

    def describe_requests(self) -> list[dict[str, Any]]:
        """Return the requests as they appear in results."""
        return [
            {
                "method": request.method,
                "path": request.target[:400],
                "bytes": request.size,
                "status": reply.status,
            }
            for request, reply in self.requests[:_MAX_SHOWN]
        ]

    def summarize(self) -> ServerRecord:
        """Return everything about the exchange that the verdict may depend on."""
        return ServerRecord(
            answered=self.answered,
            model_requests=len(self.model_requests),
            requests=tuple(self.describe_requests()),
            reached=bool(self.requests or self.strays),
            wants_wrong_form=self.wants_wrong_form,
            mismatch=self.mismatch,
            complaint=self.complaint,
            progress=self.progress,
        )

    def end(self) -> None:
        """End the trial: replies that are being sent stop before their next chunk."""
        self.ended.set()
        # Only connections that wait for a client that does not read are reset. A connection whose reply is
        # complete may already be back in the client's pool.
        for transport in tuple(self.transports):
            if transport.get_write_buffer_size():
                transport.abort()
