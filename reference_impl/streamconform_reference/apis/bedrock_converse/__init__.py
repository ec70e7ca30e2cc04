"""Everything about Amazon Bedrock Converse, `POST /model/{modelId}/converse-stream`."""

from typing import Final

from streamconform_reference.apis.codec import Codec

from .decode import BedrockConverseDecoder
from .document import to_payloads
from .request import build_request

__all__ = ["CODEC"]

CODEC: Final = Codec(
    decoder=BedrockConverseDecoder,
    to_payloads=to_payloads,
    build_request=build_request,
)
