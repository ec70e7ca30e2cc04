"""Everything about Gemini's Interactions API, `POST /v1beta/interactions`."""

from typing import Final

from streamconform_reference.apis.codec import Codec

from .decode import GoogleInteractionsDecoder
from .document import to_payloads
from .request import build_request

__all__ = ["CODEC"]

CODEC: Final = Codec(
    decoder=GoogleInteractionsDecoder,
    to_payloads=to_payloads,
    build_request=build_request,
)
