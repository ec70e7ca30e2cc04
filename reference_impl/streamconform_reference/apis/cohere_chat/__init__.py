"""Everything about Cohere Chat, `POST /v2/chat` and `POST /v1/chat`."""

from .decode import CohereChatDecoder
from .document import as_stream
from .encode import CohereChatEncoder, answer, encoder
from .losses import LOSSES

__all__ = ["LOSSES", "CohereChatDecoder", "CohereChatEncoder", "answer", "as_stream", "encoder"]
