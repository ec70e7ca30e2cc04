"""`Codec`: what this package implements for one API, as one record per API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from streamconform_reference.decoding.decoder import Decoder, Payload
from streamconform_reference.encoding.encoder import DocumentWriter, EncoderFactory, Loss


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """The functions that write answers in the format of an API."""

    encoder: EncoderFactory
    """The encoder: events in, the bytes of a stream out."""
    write_document: DocumentWriter
    """A function that returns an outcome as a non-streaming answer."""
    losses: tuple[Loss, ...]
    """The parts of an outcome that the API cannot express, and the values written instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Codec:
    """The decoder of an API and, if they exist, its encoder and its request functions.

    The grammar is in `apis.grammars`, because decoders do not need it.
    """

    decoder: type[Decoder]
    to_payloads: Callable[[Payload], Iterable[Payload]]
    """A function that returns the payloads of a stream equivalent to a non-streaming answer.

    Raises `BrokenPayloadError` if the document is not an answer.
    """
    encoding: Encoding | None = None
    build_request: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None
    """A function that returns the request for a conversation (see `requests.conversation` and `.options`)."""
    read_request: Callable[[dict[str, Any], Mapping[str, str]], dict[str, Any]] | None = None
    """A function that returns the conversation in a request's body and headers.

    Raises `RequestError` if the request is not valid.
    """
