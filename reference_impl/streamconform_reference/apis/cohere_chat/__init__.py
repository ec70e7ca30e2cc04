"""Everything about Cohere Chat, `POST /v2/chat` and `POST /v1/chat`."""

from .decode import CohereChatDecoder
from .document import to_payloads
from .encode import CohereChatEncoder, make_encoder, write_document
from .losses import LOSSES

__all__ = [
    "LOSSES",
    "CohereChatDecoder",
    "CohereChatEncoder",
    "make_encoder",
    "to_payloads",
    "write_document",
]
