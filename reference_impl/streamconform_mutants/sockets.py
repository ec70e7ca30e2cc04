"""Mutants that misread what only a WebSocket carries: lanes, steering, successors, and errors of its own."""

from __future__ import annotations

from typing import Any, Final

from streamconform_reference.apis.openai_responses.decode import OpenaiResponsesDecoder
from streamconform_reference.decoding.assemble import Assembler
from streamconform_reference.decoding.decoder import Payload
from streamconform_reference.decoding.provider_errors import protocol_error
from streamconform_reference.events import Event
from streamconform_reference.outcome import Outcome

from .json_values import drop_key, object_at
from .model import COMPLETE, CONTENT, ERROR, GIVES_UP, STOP_REASON
from .registry import StreamMutants

mutants = StreamMutants("openai-responses", OpenaiResponsesDecoder, claimed=("websocket",))

_ENDS: Final = ("response.completed", "response.incomplete", "response.failed")
_CLOSE: Final = b"\x88"
"""The first byte of a close frame, which is followed by a byte with its length, and by its code."""
_LONGEST_CLOSE: Final = 127


@mutants.decoder(kind="lanes-mixed", fails=GIVES_UP)
class LanesMixed(OpenaiResponsesDecoder):
    """Reads the events of every lane as those of one answer."""

    def read(self, payload: Payload) -> None:
        super().read({**payload, "stream_id": self.lane})


@mutants.decoder(kind="lanes-mixed", fails=GIVES_UP)
class ErrorsOfAllLanes(OpenaiResponsesDecoder):
    """Ends the answer with the error of another lane."""

    def read(self, payload: Payload) -> None:
        super().read({**payload, "stream_id": self.lane} if payload.get("type") == "error" else payload)


@mutants.decoder(kind="error-details-lost", fails=ERROR)
class ErrorOfTheConnectionUnread(OpenaiResponsesDecoder):
    """Reads only events with the name of the lane, and misses an error of the connection."""

    def read(self, payload: Payload) -> None:
        if payload.get("stream_id") == self.lane:
            super().read(payload)


@mutants.decoder(kind="error-details-lost", fails=ERROR)
class NumberedEventsOnly(OpenaiResponsesDecoder):
    """Reads only events with a number, which the errors of a socket do not have."""

    def read(self, payload: Payload) -> None:
        if "sequence_number" in payload:
            super().read(payload)


@mutants.decoder(kind="error-details-lost", fails=("**:error.status",))
class StatusBesideTheErrorUnread(OpenaiResponsesDecoder):
    """Reads only the members of the error, and not the status beside it."""

    def read(self, payload: Payload) -> None:
        super().read(drop_key(payload, "status") if payload.get("type") == "error" else payload)


@mutants.decoder(kind="text-lost", fails=(*CONTENT, *STOP_REASON, "**:invariant.**"))
class OutputOfTheLastEvent(OpenaiResponsesDecoder):
    """Takes the answer from the output of the last event, and has none if that is omitted."""

    def read(self, payload: Payload) -> None:
        if payload.get("type") == "response.completed" and not object_at(payload, "response").get("output"):
            self.message = Assembler(None)
            self.begin()
        super().read(payload)


@mutants.refuse(kind="absent-fatal", fails=GIVES_UP)
def empty_answer_fatal(payload: Payload) -> bool:
    """Fails on an answer whose output is an empty list, such as that to a warm-up."""
    return payload.get("type") == "response.completed" and object_at(payload, "response").get("output") == []


@mutants.refuse(kind="unknown-fatal", fails=GIVES_UP)
def steering_unexpected(payload: Payload) -> bool:
    """Fails on the events that answer steering."""
    return str(payload.get("type")).startswith("response.steer.")


@mutants.decoder(kind="unknown-fatal", fails=GIVES_UP)
class AnyErrorEndsTheAnswer(OpenaiResponsesDecoder):
    """Takes the error in any event for the answer's, such as that of rejected steering."""

    def read(self, payload: Payload) -> None:
        super().read({**payload, "type": "error"} if payload.get("error") else payload)


@mutants.decoder(kind="lanes-mixed", fails=GIVES_UP)
class SuccessorJoined(OpenaiResponsesDecoder):
    """Takes the response that follows a steered one for its continuation, and joins the two."""

    def read(self, payload: Payload) -> None:
        details = object_at(payload, "response").get("incomplete_details")
        if not isinstance(details, dict) or details.get("reason") != "steered":
            super().read(payload)


@mutants.decoder(kind="lanes-mixed", fails=GIVES_UP)
class LastResponseTaken(OpenaiResponsesDecoder):
    """Reads as long as the connection is open, and takes the last response for the answer."""

    end: Any = None

    def read(self, payload: Payload) -> None:
        if payload.get("type") in _ENDS and self.lane == payload.get("stream_id"):
            self.end = payload
        elif self.end is not None and payload.get("type") == "response.created":
            self.message, self.end = Assembler(None), None
            self.begin()
            super().read(payload)
        else:
            super().read(payload)

    def end_of_body(self) -> None:
        if self.end is not None:
            super().read(self.end)
        super().end_of_body()


@mutants.decoder(kind="failure-as-stop", fails=(*STOP_REASON, "**:stop.raw"))
class SteeredAsStop(OpenaiResponsesDecoder):
    """Reports a steered answer as one that has ended as the model meant it to."""

    def read(self, payload: Payload) -> None:
        response = object_at(payload, "response")
        details = response.get("incomplete_details")
        if isinstance(details, dict) and details.get("reason") == "steered":
            payload = {"type": "response.completed", "response": {**response, "status": "completed"}}
        super().read(payload)


@mutants.decoder(kind="order-trusted", fails=GIVES_UP)
class SetupExpected(OpenaiResponsesDecoder):
    """Reads the events of an item only if it was added before."""

    added: frozenset[Any] = frozenset()

    def read(self, payload: Payload) -> None:
        index = payload.get("output_index")
        if payload.get("type") == "response.output_item.added":
            self.added |= {index}
        if "output_index" not in payload or index in self.added:
            super().read(payload)


@mutants.replace("handlers", "response.failed", kind="error-details-lost", fails=GIVES_UP)
def failed_unread(_: Any, __: Payload) -> None:
    """Knows only the errors of the socket, and not those of a response."""


@mutants.replace("handlers", "response.incomplete", kind="stop-reason-lost", fails=GIVES_UP)
def incomplete_unread(_: Any, __: Payload) -> None:
    """Waits for `response.completed`, and does not end at `response.incomplete`."""


@mutants.decoder(kind="cut-as-complete", fails=(*GIVES_UP, *COMPLETE))
class CloseTakenForTheEnd(OpenaiResponsesDecoder):
    """Takes the end of the connection for the end of the answer, whatever its code."""

    def end_of_body(self) -> None:
        if not self.message.ended:
            self.message.end_all(calls=True)
            self.message.stop("stop", None)
            self.message.complete()


@mutants.decoder(kind="stop-guessed", fails=GIVES_UP)
class CloseAfterTheEndFatal(OpenaiResponsesDecoder):
    """Takes an answer that has ended for failed if the connection is then closed."""

    last = b""

    def receive_data(self, data: bytes) -> list[Event]:
        self.last = (self.last + data)[-_LONGEST_CLOSE:]
        return super().receive_data(data)

    @property
    def outcome(self) -> Outcome:
        _, close, rest = self.last.rpartition(_CLOSE)
        if close and rest[:1] == bytes((len(rest) - 1,)):
            self.message = Assembler(None)
            self.message.fail(protocol_error("the connection was closed"))
        return super().outcome
