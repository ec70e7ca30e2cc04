"""The supported APIs. Each package in this folder has a `CODEC`; its name, with hyphens, is the API's name.

The tables are derived from the packages, so a new API needs no change here.
"""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Final

from streamconform_reference.decoding.decoder import Decoder, Payload
from streamconform_reference.encoding.encoder import DocumentWriter, EncoderFactory, Loss

from .codec import Codec

__all__ = [
    "CODECS",
    "DECODERS",
    "DOCUMENT_READERS",
    "DOCUMENT_WRITERS",
    "ENCODERS",
    "LOSSES",
    "REQUEST_BUILDERS",
    "REQUEST_READERS",
]


def _load(package: str) -> Codec:
    codec: Codec = import_module(f"{__name__}.{package}").CODEC
    return codec


CODECS: Final[Mapping[str, Codec]] = {
    module.name.replace("_", "-"): _load(module.name) for module in iter_modules(__path__) if module.ispkg
}

DECODERS: Final[Mapping[str, type[Decoder]]] = {api: codec.decoder for api, codec in CODECS.items()}

# Functions that return a non-streaming answer as the payloads of an equivalent stream. They raise
# `BrokenPayloadError` if the document is not an answer.
DOCUMENT_READERS: Final[Mapping[str, Callable[[Payload], Iterable[Payload]]]] = {
    api: codec.to_payloads for api, codec in CODECS.items()
}

# The encoder for each API: events in, the bytes of a stream out.
ENCODERS: Final[Mapping[str, EncoderFactory]] = {
    api: codec.encoding.encoder for api, codec in CODECS.items() if codec.encoding
}

# Functions that write an outcome as a non-streaming answer.
DOCUMENT_WRITERS: Final[Mapping[str, DocumentWriter]] = {
    api: codec.encoding.write_document for api, codec in CODECS.items() if codec.encoding
}

# The parts of an outcome that an API cannot express, and the values that its encoder writes instead.
LOSSES: Final[Mapping[str, tuple[Loss, ...]]] = {
    api: codec.encoding.losses for api, codec in CODECS.items() if codec.encoding
}

# Functions that write a conversation as an HTTP request; `requests.conversation` and `requests.options`
# define its fields.
REQUEST_BUILDERS: Final[Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    api: codec.build_request for api, codec in CODECS.items() if codec.build_request
}

# Functions that read a request as a conversation. They raise `RequestError` if the request is not valid.
REQUEST_READERS: Final[Mapping[str, Callable[[dict[str, Any], Mapping[str, str]], dict[str, Any]]]] = {
    api: codec.read_request for api, codec in CODECS.items() if codec.read_request
}
