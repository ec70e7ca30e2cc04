"""The non-streaming answer, which `generateContent` returns as a single chunk.

Source: https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse
"""

from __future__ import annotations

from collections.abc import Iterator

from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload


def to_payloads(document: Payload) -> Iterator[Payload]:
    """Yield the document, which has the same form as a chunk.

    Raises:
        BrokenPayloadError: the document has neither candidates nor prompt feedback.
    """
    if not (isinstance(document.get("candidates"), list) or isinstance(document.get("promptFeedback"), dict)):
        raise BrokenPayloadError("the document has no candidates")
    yield document
