"""Everything about Ollama's own chat API, `POST /api/chat`."""

from typing import Final

from streamconform_reference.apis.codec import Codec

from .decode import OllamaChatDecoder
from .document import to_payloads
from .request import build_request

__all__ = ["CODEC"]

CODEC: Final = Codec(
    decoder=OllamaChatDecoder,
    to_payloads=to_payloads,
    build_request=build_request,
)
