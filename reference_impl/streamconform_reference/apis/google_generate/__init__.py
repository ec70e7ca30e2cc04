"""Everything about Gemini's `streamGenerateContent`, in the Gemini API and in Vertex AI."""

from typing import Final

from streamconform_reference.apis.codec import Codec

from .decode import GoogleGenerateDecoder
from .document import to_payloads
from .request import build_request

__all__ = ["CODEC"]

CODEC: Final = Codec(
    decoder=GoogleGenerateDecoder,
    to_payloads=to_payloads,
    build_request=build_request,
)
