"""Everything about Cohere Chat, `POST /v2/chat` and `POST /v1/chat`."""

from typing import Final

from streamconform_reference.apis.codec import Codec

from .decode import CohereChatDecoder
from .document import to_payloads
from .request import build_request

__all__ = ["CODEC"]

CODEC: Final = Codec(
    decoder=CohereChatDecoder,
    to_payloads=to_payloads,
    build_request=build_request,
)
