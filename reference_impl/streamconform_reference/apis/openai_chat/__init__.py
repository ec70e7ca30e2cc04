"""Everything about OpenAI Chat Completions, `POST /v1/chat/completions`, and its dialects."""

from typing import Final

from streamconform_reference.apis.codec import Codec, Encoding

from .decode import OpenaiChatDecoder
from .document import to_payloads
from .encode import LOSSES, OpenaiChatEncoder, write_document
from .request import build_request
from .request_decode import read_conversation

__all__ = ["CODEC"]

CODEC: Final = Codec(
    decoder=OpenaiChatDecoder,
    to_payloads=to_payloads,
    encoding=Encoding(encoder=OpenaiChatEncoder, write_document=write_document, losses=LOSSES),
    build_request=build_request,
    read_request=read_conversation,
)
