"""Read the `chunk` messages of an invoke stream; each contains one model event as base64 in JSON.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_PayloadPart.html
"""

from __future__ import annotations

import base64
from typing import Final

from msgspec.structs import replace

from streamconform_reference.decoding.decoder import BrokenPayloadError
from streamconform_reference.framing import Frame
from streamconform_reference.json_text import codec

CHUNK: Final = "chunk"
"""The `:event-type` of messages that contain a model event."""


def is_chunk(frame: Frame) -> bool:
    """Whether a message is a `chunk`, or has no type at all."""
    return (frame.headers or {}).get(":event-type", CHUNK) == CHUNK


def unwrap(frame: Frame) -> Frame:
    """Return the frame with the model's event as its data; empty if the chunk has no `bytes`.

    Raises:
        BrokenPayloadError: the payload is not JSON, or its `bytes` is not base64.
    """
    try:
        part = codec.loads(frame.data)
    except codec.NotJsonError as error:
        raise BrokenPayloadError(f"payload is not valid JSON: {error}") from None
    text = part.get("bytes", "") if isinstance(part, dict) else None
    if not isinstance(text, str):
        raise BrokenPayloadError("a chunk has no `bytes`")
    try:
        return replace(frame, data=base64.b64decode(text, validate=True))
    except ValueError as error:
        raise BrokenPayloadError(f"`bytes` of a chunk is not base64: {error}") from None
