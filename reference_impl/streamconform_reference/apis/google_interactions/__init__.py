"""Everything about Gemini's Interactions API, `POST /v1beta/interactions`."""

from typing import Final

from streamconform_reference.apis.codec import Codec, Encoding

from .decode import GoogleInteractionsDecoder
from .document import to_payloads
from .encode import GoogleInteractionsEncoder, write_document
from .losses import LOSSES
from .request import build_request

__all__ = ["CODEC"]

CODEC: Final = Codec(
    decoder=GoogleInteractionsDecoder,
    to_payloads=to_payloads,
    encoding=Encoding(encoder=GoogleInteractionsEncoder, write_document=write_document, losses=LOSSES),
    build_request=build_request,
)
