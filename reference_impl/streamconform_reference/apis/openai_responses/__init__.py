"""Everything about OpenAI Responses, `POST /v1/responses`."""

from typing import Final

from streamconform_reference.apis.codec import Codec, Encoding

from .decode import OpenaiResponsesDecoder
from .document import to_payloads
from .encode import OpenaiResponsesEncoder, write_document
from .losses import LOSSES
from .request import build_request

__all__ = ["CODEC"]

CODEC: Final = Codec(
    decoder=OpenaiResponsesDecoder,
    to_payloads=to_payloads,
    encoding=Encoding(encoder=OpenaiResponsesEncoder, write_document=write_document, losses=LOSSES),
    build_request=build_request,
)
