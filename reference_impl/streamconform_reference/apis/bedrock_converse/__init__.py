"""Everything about Amazon Bedrock Converse, `POST /model/{modelId}/converse-stream`."""

from .decode import BedrockConverseDecoder
from .document import to_payloads
from .encode import BedrockConverseEncoder, write_document
from .losses import LOSSES

__all__ = ["LOSSES", "BedrockConverseDecoder", "BedrockConverseEncoder", "to_payloads", "write_document"]
