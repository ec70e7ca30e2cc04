"""Everything about Telegraph's chat, `POST /telegraph/chat`."""

from typing import Final

from streamconform_reference.apis.codec import Codec

from .decode import TelegraphChatDecoder
from .document import to_payloads

__all__ = ["CODEC"]

CODEC: Final = Codec(decoder=TelegraphChatDecoder, to_payloads=to_payloads)
