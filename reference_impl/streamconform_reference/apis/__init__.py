"""The apis that can be decoded: a new one is its folder and one line here."""

from collections.abc import Mapping
from typing import Final

from streamconform_reference.decoder import Decoder

from .anthropic_messages import AnthropicMessagesDecoder

__all__ = ["DECODERS"]

DECODERS: Final[Mapping[str, type[Decoder]]] = {
    "anthropic-messages": AnthropicMessagesDecoder,
}
