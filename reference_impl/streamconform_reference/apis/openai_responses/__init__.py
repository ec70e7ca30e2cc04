"""Everything about OpenAI Responses, `POST /v1/responses`."""

from .decode import OpenaiResponsesDecoder
from .document import as_stream
from .encode import OpenaiResponsesEncoder, answer
from .losses import LOSSES

__all__ = ["LOSSES", "OpenaiResponsesDecoder", "OpenaiResponsesEncoder", "answer", "as_stream"]
