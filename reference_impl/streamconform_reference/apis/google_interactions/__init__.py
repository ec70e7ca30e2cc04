"""Everything about Gemini's Interactions, `POST /v1beta/interactions`."""

from typing import Final

from streamconform_reference.apis.codec import Codec

from .decode import GoogleInteractionsDecoder
from .document import to_payloads

__all__ = ["CODEC"]

CODEC: Final = Codec(decoder=GoogleInteractionsDecoder, to_payloads=to_payloads)
