"""Everything about Amazon Bedrock InvokeModel with Anthropic's models."""

from typing import Final

from streamconform_reference.apis.codec import Codec, Encoding

from .decode import BedrockInvokeDecoder
from .document import to_payloads
from .encode import BedrockInvokeEncoder, write_document
from .losses import LOSSES
from .request import build_request

__all__ = ["CODEC"]

CODEC: Final = Codec(
    decoder=BedrockInvokeDecoder,
    to_payloads=to_payloads,
    encoding=Encoding(encoder=BedrockInvokeEncoder, write_document=write_document, losses=LOSSES),
    build_request=build_request,
)
