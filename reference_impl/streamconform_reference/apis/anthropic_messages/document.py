"""The non-streaming answer, as the payloads of an equivalent stream.

Source: https://docs.claude.com/en/api/messages
"""

from __future__ import annotations

from collections.abc import Iterator

from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload


def to_payloads(document: Payload) -> Iterator[Payload]:
    """Yield a start that contains the complete message, and a stop.

    Raises:
        BrokenPayloadError: the document has no content.
    """
    if not isinstance(document.get("content"), list):
        raise BrokenPayloadError("the document has no content")
    yield {"type": "message_start", "message": document}
    yield {"type": "message_stop"}
