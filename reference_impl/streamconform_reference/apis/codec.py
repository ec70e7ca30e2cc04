"""`Codec`: what this package implements for one API, as one record per API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from streamconform_reference.decoding.decoder import Decoder, Payload
from streamconform_reference.encoding.encoder import DocumentWriter, EncoderFactory, Loss


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """How answers are written in the format of an API."""

    encoder: EncoderFactory
    """Events in, the bytes of a stream out."""
    write_document: DocumentWriter
    """Returns an outcome as the answer without streaming."""
    losses: tuple[Loss, ...]
    """The parts of an outcome that the API cannot express, and what is written instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Codec:
    """The decoder of an API and, where they are written, its encoder and its requests.

    The grammar is in `apis.grammars`, because decoders do not need it.
    """

    decoder: type[Decoder]
    to_payloads: Callable[[Payload], Iterable[Payload]]
    """Returns the payloads of a stream equivalent to an answer without streaming.

    Raises `BrokenPayloadError` if the document is not an answer.
    """
    encoding: Encoding | None = None
    build_request: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None
    """Returns the request for a conversation, which `requests.conversation` and `requests.options` define."""
    read_request: Callable[[dict[str, Any], Mapping[str, str]], dict[str, Any]] | None = None
    """Returns the conversation in the body and headers of a request.

    Raises `RequestError` if the request is not valid.
    """
