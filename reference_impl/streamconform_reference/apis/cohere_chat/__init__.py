"""Everything about Cohere Chat, `POST /v2/chat` and `POST /v1/chat`."""

from .decode import CohereChatDecoder
from .document import as_stream

__all__ = ["CohereChatDecoder", "as_stream"]
