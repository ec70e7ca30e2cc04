"""Everything about Amazon Bedrock Converse, `POST /model/{modelId}/converse-stream`."""

from .decode import BedrockConverseDecoder
from .document import as_stream

__all__ = ["BedrockConverseDecoder", "as_stream"]
