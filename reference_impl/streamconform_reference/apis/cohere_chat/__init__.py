"""Everything about Cohere Chat, `POST /v2/chat` and `POST /v1/chat`."""

from typing import Final

from streamconform_reference.apis.codec import Codec, Encoding

from .decode import CohereChatDecoder
from .document import to_payloads
from .encode import make_encoder, write_document
from .losses import LOSSES
from .request import build_request

__all__ = ["CODEC"]

CODEC: Final = Codec(
    decoder=CohereChatDecoder,
    to_payloads=to_payloads,
    encoding=Encoding(encoder=make_encoder, write_document=write_document, losses=LOSSES),
    build_request=build_request,
)
