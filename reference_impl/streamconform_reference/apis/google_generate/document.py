"""The answer without streaming: `generateContent` says in one chunk what its stream would have said.

Source: https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse
"""

from __future__ import annotations

from collections.abc import Iterator

from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload


def as_stream(document: Payload) -> Iterator[Payload]:
    """Yield the document, which is a chunk itself.

    Raises:
        BrokenPayloadError: it has neither candidates nor a word why there are none.
    """
    if not (isinstance(document.get("candidates"), list) or isinstance(document.get("promptFeedback"), dict)):
        raise BrokenPayloadError("the document has no candidates")
    yield document
