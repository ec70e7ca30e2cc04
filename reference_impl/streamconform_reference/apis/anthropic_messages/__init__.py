"""Everything about Anthropic Messages, `POST /v1/messages`."""

from typing import Final

from streamconform_reference.apis.codec import Codec, Encoding

from .decode import AnthropicMessagesDecoder
from .document import to_payloads
from .encode import LOSSES, AnthropicMessagesEncoder, write_document
from .request import build_request
from .request_decode import read_conversation

__all__ = ["CODEC"]

CODEC: Final = Codec(
    decoder=AnthropicMessagesDecoder,
    to_payloads=to_payloads,
    encoding=Encoding(encoder=AnthropicMessagesEncoder, write_document=write_document, losses=LOSSES),
    build_request=build_request,
    read_request=read_conversation,
)
