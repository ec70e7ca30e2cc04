"""Everything about Amazon Bedrock InvokeModel with Anthropic's models."""

from typing import Final

from streamconform_reference.apis.codec import Codec

from .decode import BedrockInvokeDecoder
from .document import to_payloads
from .request import build_request

__all__ = ["CODEC"]

CODEC: Final = Codec(
    decoder=BedrockInvokeDecoder,
    to_payloads=to_payloads,
    build_request=build_request,
)
