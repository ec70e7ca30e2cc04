"""Translate the upstream's answer to the client's API, as a stream or as one document.

The client's stream starts with the upstream's first record. If the upstream fails before that, the client
still gets the failure as an HTTP status.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from streamconform_proxy.failures import JSON_HEADERS, DocumentResponse, build_refusal, normalize_error
from streamconform_proxy.redaction import EventRedactor, get_secret, redact
from streamconform_proxy.shape import (
    KeepAlive,
    NewId,
    Shaper,
    ShapingRules,
    generate_hex_digits,
    shape_outcome,
)
from streamconform_proxy.translate import UpstreamRequest
from streamconform_reference.apis import DECODERS, DOCUMENT_WRITERS, ENCODERS
from streamconform_reference.document import decode_document
from streamconform_reference.encoding.encoder import Encoder, PlacedBlock, PlacedCitation, to_pieces
from streamconform_reference.events import Done, Event, Failed, UsageUpdate
from streamconform_reference.json_text import codec
from streamconform_reference.outcome import Error, Outcome, Usage
from streamconform_reference.requests.errors import RequestError

ID_PREFIXES: Final[Mapping[str, tuple[str, str]]] = {
    "anthropic-messages": ("msg_", "toolu_"),
    "openai-chat": ("chatcmpl-", "call_"),
}
"""By the client's API: the prefixes of answer ids and of tool call ids."""

OBJECT_ARGUMENTS: Final = frozenset({"anthropic-messages"})
"""Client APIs that require a tool call's arguments to be an object; for these, the proxy repairs them."""
WHOLE_CALLS: Final = frozenset({"ollama-chat"})
"""Upstream APIs that send each tool call in one piece."""
STREAM_FRAMED_DOCUMENTS: Final = frozenset({"ollama-chat"})
"""Upstream APIs whose non-streaming answers are framed like a stream."""
EARLY_INPUT_TOKENS: Final = frozenset({"anthropic-messages"})
"""Client APIs in which a stream begins with the number of input tokens."""
OPTIONAL_USAGE: Final = frozenset({"openai-chat"})
"""Client APIs in which a stream contains usage only if the request asks for it."""

MAX_DOCUMENT: Final = 64 * 1024 * 1024
"""The maximum size of a document that is relayed as a stream; no answer is that long."""

STREAM_HEADERS: Final[Mapping[str, str]] = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",
}


class StreamRelay:
    """Translates one streamed answer: the upstream's bytes in, in any chunks; the client's bytes out.

    It is meant for upstream answers with a status below 400 (for others, see `build_upstream_failure`). No
    method raises. The response to the client has status 200.
    """

    headers: Mapping[str, str] = STREAM_HEADERS
    """The headers of the response to the client."""

    def __init__(
        self,
        request: UpstreamRequest,
        *,
        headers: Mapping[str, str],
        new_id: NewId = generate_hex_digits,
        created: int = 0,
    ) -> None:
        """Start before the first byte.

        `headers` are the upstream's headers, with names in lower case; `created` is the current time in
        seconds since 1970.
        """
        self.ended = False
        """Whether the client's response is finished; later bytes from the upstream are ignored."""
        self.early_failure: DocumentResponse | None = None
        """The response that replaces the stream, if the upstream failed before its answer started."""
        self._request = request
        self._decoder = DECODERS[request.route.upstream](headers=headers)
        self._document: bytearray | None = bytearray() if is_document(request, headers) else None
        self._redactor = EventRedactor(get_secret(request.route))
        self._shaper = Shaper(build_rules(request, new_id))
        self._encoder: Encoder = ENCODERS[request.route.client](
            model=request.model,
            response_id=ID_PREFIXES[request.route.client][0] + new_id(24),
            created=created,
        )
        self._started = False

    def receive(self, data: bytes) -> bytes:
        """Accept the upstream's next bytes; return the client's next bytes, often none."""
        if self.ended:
            return b""
        if self._document is not None:
            self._document += data
            if len(self._document) > MAX_DOCUMENT:
                return self.break_off(f"the upstream sent more than {MAX_DOCUMENT} bytes, but no stream")
            return b""
        return self._encode(self._redactor.redact_events(self._decoder.receive_data(data)))

    def end(self) -> bytes:
        """Accept the end of the upstream's body; return the last bytes: an error event if it ended early."""
        if self.ended:
            return b""
        if self._document is not None:
            outcome = decode_document(bytes(self._document), self._request.route.upstream)
            return self._encode(self._redactor.redact_events(to_events(outcome)))
        return self._encode(self._redactor.redact_events(self._decoder.receive_eof()))

    def break_off(self, message: str, *, type: str = "api_error") -> bytes:  # noqa: A002
        """End the stream because the upstream can no longer be read; return the error event."""
        return b"" if self.ended else self._encode([Failed("error", Error(type, message, None))])

    def ping(self) -> bytes:
        """Return bytes that keep the client's stream alive, and start it if it has not started yet."""
        if self.ended:
            return b""
        return self._encode_opening() or self._encoder.ping()

    def _encode(self, events: list[Event]) -> bytes:
        # Even a first record without events shows that the upstream is answering.
        has_record = self._decoder.message.model is not None
        if not (events or has_record):
            return b""
        output = bytearray()
        if isinstance(first := (events or (None,))[0], Failed) and not (self._started or has_record):
            self.early_failure = build_early_failure(self._request, normalize_error(first.error))
            self._started = True
        else:
            output += self._encode_opening()
        for event in events:
            for piece in self._shaper.receive(event):
                output += self._encode_piece(piece)
        self.ended = bool(events) and isinstance(events[-1], (Done, Failed))
        return bytes(output)

    def _encode_piece(self, piece: Event | KeepAlive) -> bytes:
        if isinstance(piece, KeepAlive):
            return self._encoder.ping()
        has_usage = self._request.wants_usage or self._request.route.client not in OPTIONAL_USAGE
        return b"" if isinstance(piece, UsageUpdate) and not has_usage else self._encoder.piece(piece)

    def _encode_opening(self) -> bytes:
        if self._started:
            return b""
        self._started = True
        if self._request.route.client in EARLY_INPUT_TOKENS:
            self._encoder.piece(UsageUpdate(Usage(input=self._request.input_tokens), None))
        return self._encoder.opening()


def relay_document(
    request: UpstreamRequest,
    *,
    headers: Mapping[str, str],
    body: bytes,
    new_id: NewId = generate_hex_digits,
    created: int = 0,
) -> DocumentResponse:
    """Return the non-streaming answer for the upstream's complete body, which is a document or a stream.

    If the upstream failed with a status below 400, or its answer ended early, the response has the status
    that the error names, or else 502.
    """
    client, upstream = request.route.client, request.route.upstream
    response_id = ID_PREFIXES[client][0] + new_id(24)
    if is_document(request, headers):
        outcome = decode_document(body, upstream)
    else:
        decoder = DECODERS[upstream](headers=headers)
        decoder.receive_data(body)
        decoder.receive_eof()
        outcome = decoder.outcome
    outcome = redact(outcome, get_secret(request.route))
    shaped = shape_outcome(outcome, build_rules(request, new_id))
    if shaped.error is not None:
        return build_early_failure(request, shaped.error)
    document = DOCUMENT_WRITERS[client](shaped, model=request.model, response_id=response_id, created=created)
    return DocumentResponse(200, JSON_HEADERS, codec.dumps(document))


def to_events(outcome: Outcome) -> Iterable[Event]:
    """Return the events of a complete answer; content without events cannot be expressed in another API."""
    return (piece for piece in to_pieces(outcome) if not isinstance(piece, (PlacedBlock, PlacedCitation)))


def build_rules(request: UpstreamRequest, new_id: NewId) -> ShapingRules:
    """Return the rules for shaping the answer to a request."""
    client, upstream = request.route.client, request.route.upstream
    return ShapingRules(
        thinking=request.wants_thinking,
        heals=client in OBJECT_ARGUMENTS,
        eager=request.wants_unchecked_arguments,
        whole_calls=upstream in WHOLE_CALLS,
        id_prefix=ID_PREFIXES[client][1],
        new_id=new_id,
        input_tokens=request.input_tokens if client in EARLY_INPUT_TOKENS else None,
    )


def is_document(request: UpstreamRequest, headers: Mapping[str, str]) -> bool:
    """Return whether the upstream's body is a single document, judging by its content type or the request."""
    if request.route.upstream in STREAM_FRAMED_DOCUMENTS:
        return False
    kind = headers.get("content-type", "")
    return "json" in kind or not (request.stream or "event-stream" in kind)


def build_early_failure(request: UpstreamRequest, error: Error) -> DocumentResponse:
    """Return the response for an upstream that failed before its answer started."""
    normalized = normalize_error(error)
    status = normalized.status or 502
    refusal = RequestError(status, normalized.type or "api_error", normalized.message or "")
    return build_refusal(request.route.client, refusal)
