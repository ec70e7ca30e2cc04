"""The non-streaming answer: a single record with the complete message.

Source: https://docs.ollama.com/api/chat
"""

from __future__ import annotations

from collections.abc import Iterator

from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload


def to_payloads(document: Payload) -> Iterator[Payload]:
    """Yield the document, which has the same form as a record.

    Raises:
        BrokenPayloadError: the document has no message.
    """
    if not isinstance(document.get("message"), dict):
        raise BrokenPayloadError("the document has no message")
    yield document
