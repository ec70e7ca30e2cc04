"""Everything about OpenAI Responses, `POST /v1/responses`."""

from .decode import OpenaiResponsesDecoder
from .document import to_payloads
from .encode import OpenaiResponsesEncoder, write_document
from .losses import LOSSES

__all__ = ["LOSSES", "OpenaiResponsesDecoder", "OpenaiResponsesEncoder", "to_payloads", "write_document"]
