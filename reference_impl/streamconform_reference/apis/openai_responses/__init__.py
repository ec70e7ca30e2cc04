"""Everything about OpenAI Responses, `POST /v1/responses`."""

from .decode import OpenaiResponsesDecoder
from .document import as_stream

__all__ = ["OpenaiResponsesDecoder", "as_stream"]
