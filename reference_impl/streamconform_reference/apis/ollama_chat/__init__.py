"""Everything about Ollama's own chat API, `POST /api/chat`."""

from typing import Final

from streamconform_reference.apis.codec import Codec, Encoding

from .decode import OllamaChatDecoder
from .document import to_payloads
from .encode import LOSSES, OllamaChatEncoder, write_document
from .request import build_request

__all__ = ["CODEC"]

CODEC: Final = Codec(
    decoder=OllamaChatDecoder,
    to_payloads=to_payloads,
    encoding=Encoding(encoder=OllamaChatEncoder, write_document=write_document, losses=LOSSES),
    build_request=build_request,
)
