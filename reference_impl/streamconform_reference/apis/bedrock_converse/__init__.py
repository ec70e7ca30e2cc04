"""Everything about Amazon Bedrock Converse, `POST /model/{modelId}/converse-stream`."""

from .decode import BedrockConverseDecoder
from .document import as_stream
from .encode import BedrockConverseEncoder, answer
from .losses import LOSSES

__all__ = ["LOSSES", "BedrockConverseDecoder", "BedrockConverseEncoder", "answer", "as_stream"]
