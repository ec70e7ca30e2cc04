"""The non-streaming answer, as the payloads of an equivalent stream.

Source: https://platform.openai.com/docs/api-reference/responses/object
"""

from __future__ import annotations

from collections.abc import Iterator

from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload

_RUNNING = ("queued", "in_progress")


def to_payloads(document: Payload) -> Iterator[Payload]:
    """Yield the end event with the complete response, or the start event if it is still in progress.

    Raises:
        BrokenPayloadError: the document is not a response.
    """
    status = document.get("status")
    if not (isinstance(document.get("output"), list) or (isinstance(status, str) and "id" in document)):
        raise BrokenPayloadError("the document has no output")
    kind = "created" if status in _RUNNING else status if status in ("incomplete", "failed") else "completed"
    yield {"type": f"response.{kind}", "response": document}
