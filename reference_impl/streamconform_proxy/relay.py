"""The upstream's answer in, the client's out.

A stream begins with the upstream's first record: until then nothing is known, not even whether it answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from streamconform_reference.apis import DECODERS, DOCUMENT_WRITERS, ENCODERS
from streamconform_reference.document import decode_document
from streamconform_reference.encoding.encoder import Encoder, PlacedBlock, to_pieces
from streamconform_reference.events import Done, Event, Failed, UsageUpdate
from streamconform_reference.json_text import codec
from streamconform_reference.outcome import Error, Outcome, Usage
from streamconform_reference.requests.errors import RequestError

from streamconform_proxy.failures import JSON, Answer, as_told, refused
from streamconform_proxy.shape import Manner, NewId, Shaper, Unsaid, random_digits, shaped
from streamconform_proxy.translate import Asked

IDS: Final[Mapping[str, tuple[str, str]]] = {
    "anthropic-messages": ("msg_", "toolu_"),
    "openai-chat": ("chatcmpl-", "call_"),
}
"""What ids of answers and of calls begin with, by the client's api."""

HEALED: Final = frozenset({"anthropic-messages"})
"""The clients' apis in which arguments are an object."""
WHOLE_CALLS: Final = frozenset({"ollama-chat"})
"""The upstream apis that send each call in one piece."""
LINES: Final = frozenset({"ollama-chat"})
"""The upstream apis whose answer without streaming is framed as a stream is."""
COUNTED_AT_ONCE: Final = frozenset({"anthropic-messages"})
"""The clients' apis in which a stream begins with the tokens of the input."""
ASKED_USAGE: Final = frozenset({"openai-chat"})
"""The clients' apis in which usage is told in a stream only where that is asked for."""

MAX_DOCUMENT: Final = 64 * 1024 * 1024
"""Bytes of a document that is relayed as a stream; no answer is as long."""

STREAM: Final[Mapping[str, str]] = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",
}


class Relay:
    """One streamed answer: the upstream's bytes in, cut anywhere, the client's bytes out; nothing raises.

    It is for upstream answers with a status below 400; `failed` is for the others. `ended` is whether the
    client has all that it will get, whatever the upstream says behind that. `early` is what a client gets to
    which nothing was sent yet: the upstream failed before its answer began. `headers` are those of the
    response to the client, whose status is 200.
    """

    headers: Mapping[str, str] = STREAM

    def __init__(
        self,
        asked: Asked,
        *,
        headers: Mapping[str, str],
        new_id: NewId = random_digits,
        created: int = 0,
    ) -> None:
        """Begin before the first byte; `headers` are the upstream's, names in lower case.

        `created` is now, in seconds since 1970.
        """
        self.ended = False
        self.early: Answer | None = None
        self._asked = asked
        self._decoder = DECODERS[asked.route.upstream](headers=headers)
        self._document: bytearray | None = bytearray() if is_document(asked, headers) else None
        self._shaper = Shaper(manner(asked, new_id))
        self._encoder: Encoder = ENCODERS[asked.route.client](
            model=asked.model, response_id=IDS[asked.route.client][0] + new_id(24), created=created
        )
        self._begun = False

    def receive(self, data: bytes) -> bytes:
        """Take the upstream's next bytes; return the client's next, often none."""
        if self.ended:
            return b""
        if self._document is not None:
            self._document += data
            if len(self._document) > MAX_DOCUMENT:
                return self.break_off(f"the upstream sent more than {MAX_DOCUMENT} bytes of no stream")
            return b""
        return self._written(self._decoder.receive_data(data))

    def end(self) -> bytes:
        """Take the end of the upstream's body; return the last bytes. Early, it is an error event."""
        if self.ended:
            return b""
        if self._document is not None:
            outcome = decode_document(bytes(self._document), self._asked.route.upstream)
            return self._written(list(events_of(outcome)))
        return self._written(self._decoder.receive_eof())

    def break_off(self, message: str, *, type: str = "api_error") -> bytes:  # noqa: A002
        """Take that the upstream cannot be read any more; return the error event that says so."""
        return b"" if self.ended else self._written([Failed("error", Error(type, message, None))])

    def ping(self) -> bytes:
        """Return what keeps the client's stream alive; the stream begins with it if it had not."""
        if self.ended:
            return b""
        return self._opening() or self._encoder.ping()

    def _written(self, events: list[Event]) -> bytes:
        answers = self._decoder.message.model is not None  # a record came, if none that says anything
        if not (events or answers):
            return b""
        written = bytearray()
        if isinstance(first := (events or (None,))[0], Failed) and not (self._begun or answers):
            self.early = early_answer(self._asked, as_told(first.error))
            self._begun = True
        else:
            written += self._opening()
        for event in events:
            for piece in self._shaper.receive(event):
                written += self._piece(piece)
        self.ended = bool(events) and isinstance(events[-1], (Done, Failed))
        return bytes(written)

    def _piece(self, piece: Event | Unsaid) -> bytes:
        if isinstance(piece, Unsaid):
            return self._encoder.ping()
        told = self._asked.usage or self._asked.route.client not in ASKED_USAGE
        return b"" if isinstance(piece, UsageUpdate) and not told else self._encoder.piece(piece)

    def _opening(self) -> bytes:
        if self._begun:
            return b""
        self._begun = True
        if self._asked.route.client in COUNTED_AT_ONCE:
            self._encoder.piece(UsageUpdate(Usage(input=self._asked.input_tokens), None))
        return self._encoder.opening()


def whole(
    asked: Asked,
    *,
    headers: Mapping[str, str],
    body: bytes,
    new_id: NewId = random_digits,
    created: int = 0,
) -> Answer:
    """Return the answer without streaming, from the upstream's whole body: a document or a stream.

    An upstream that failed with a status below 400, or whose answer breaks off, is an answer of 502, or of
    the status that it names.
    """
    client, upstream = asked.route.client, asked.route.upstream
    name = IDS[client][0] + new_id(24)
    if is_document(asked, headers):
        given = decode_document(body, upstream)
    else:
        decoder = DECODERS[upstream](headers=headers)
        decoder.receive_data(body)
        decoder.receive_eof()
        given = decoder.outcome
    answer = shaped(given, manner(asked, new_id))
    if answer.error is not None:
        return early_answer(asked, answer.error)
    document = DOCUMENT_WRITERS[client](answer, model=asked.model, response_id=name, created=created)
    return Answer(200, JSON, codec.dumps(document))


def events_of(outcome: Outcome) -> Iterable[Event]:
    """Return the events of a whole answer: what has none has no form in another api."""
    return (piece for piece in to_pieces(outcome) if not isinstance(piece, PlacedBlock))


def manner(asked: Asked, new_id: NewId) -> Manner:
    """Return how the answer to a request is shaped."""
    client, upstream = asked.route.client, asked.route.upstream
    return Manner(
        thinking=asked.thinking,
        heals=client in HEALED,
        eager=asked.eager,
        whole_calls=upstream in WHOLE_CALLS,
        id_prefix=IDS[client][1],
        new_id=new_id,
        input_tokens=asked.input_tokens if client in COUNTED_AT_ONCE else None,
    )


def is_document(asked: Asked, headers: Mapping[str, str]) -> bool:
    """Whether the upstream's body is one document: its content type says so, or else the request."""
    if asked.route.upstream in LINES:
        return False
    kind = headers.get("content-type", "")
    return "json" in kind or not (asked.stream or "event-stream" in kind)


def early_answer(asked: Asked, error: Error) -> Answer:
    """Return the answer for an upstream that failed before its answer began."""
    told = as_told(error)
    status = told.status or 502
    return refused(asked.route.client, RequestError(status, told.type or "api_error", told.message or ""))
