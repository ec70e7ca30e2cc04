"""Everything about Gemini's `streamGenerateContent`, in the Gemini API and in Vertex AI."""

from typing import Final

from streamconform_reference.apis.codec import Codec, Encoding

from .decode import GoogleGenerateDecoder
from .document import to_payloads
from .encode import GoogleGenerateEncoder, write_document
from .losses import LOSSES
from .request import build_request

__all__ = ["CODEC"]

CODEC: Final = Codec(
    decoder=GoogleGenerateDecoder,
    to_payloads=to_payloads,
    encoding=Encoding(encoder=GoogleGenerateEncoder, write_document=write_document, losses=LOSSES),
    build_request=build_request,
)
