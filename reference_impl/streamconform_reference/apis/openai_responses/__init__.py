"""Everything about OpenAI Responses, `POST /v1/responses`."""

from typing import Final

from streamconform_reference.apis.codec import Codec

from .decode import OpenaiResponsesDecoder
from .document import to_payloads
from .request import build_request

__all__ = ["CODEC"]

CODEC: Final = Codec(
    decoder=OpenaiResponsesDecoder,
    to_payloads=to_payloads,
    build_request=build_request,
)
