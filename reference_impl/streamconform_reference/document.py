"""Decode non-streaming answers: a document in, the outcome of the equivalent stream out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from streamconform_reference.apis import DECODERS, DOCUMENT_READERS
from streamconform_reference.decoding.decoder import BrokenPayloadError, Decoder, Payload
from streamconform_reference.decoding.provider_errors import protocol_error, read_error
from streamconform_reference.json_text import codec
from streamconform_reference.outcome import Outcome

DocumentReader = Callable[[Payload], Iterable[Payload]]
"""A function that returns the payloads of an equivalent stream. Raises `BrokenPayloadError` for other
documents.
"""


def decode_document(
    body: bytes,
    api: str,
    status: int = 200,
    pricing: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Outcome:
    """Return the outcome of a complete answer or of an error document. No input bytes raise.

    Raises:
        KeyError: the API is unknown.
    """
    decoder = DECODERS[api](status=status, headers=headers, pricing=pricing)
    return read_document(body, decoder, DOCUMENT_READERS[api])


def read_document(body: bytes, decoder: Decoder, as_stream: DocumentReader) -> Outcome:
    """Read a document with a new decoder, and return its outcome. No input bytes raise."""
    if decoder.failed:
        decoder.receive_data(body)
        decoder.receive_eof()
        return decoder.outcome
    try:
        document = codec.loads(body)
    except codec.NotJsonError as error:
        decoder.message.fail(protocol_error(f"the document is not JSON: {error}"))
        return decoder.outcome
    if not isinstance(document, dict):
        decoder.message.fail(protocol_error("the document is not a JSON object"))
        return decoder.outcome
    decoder.whole = True
    try:
        for payload in as_stream(document):
            decoder.read(payload)
    except BrokenPayloadError as broken:
        named = read_error(document)
        names_error = document.get("error") or document.get("type") == "error"
        decoder.message.fail(named if names_error else protocol_error(named.message or str(broken)))
    decoder.end_of_body()
    return decoder.outcome
