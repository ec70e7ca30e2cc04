"""Everything about Amazon Bedrock Converse, `POST /model/{modelId}/converse-stream`."""

from typing import Final

from streamconform_reference.apis.codec import Codec, Encoding

from .decode import BedrockConverseDecoder
from .document import to_payloads
from .encode import BedrockConverseEncoder, write_document
from .losses import LOSSES
from .request import build_request

__all__ = ["CODEC"]

CODEC: Final = Codec(
    decoder=BedrockConverseDecoder,
    to_payloads=to_payloads,
    encoding=Encoding(encoder=BedrockConverseEncoder, write_document=write_document, losses=LOSSES),
    build_request=build_request,
)
