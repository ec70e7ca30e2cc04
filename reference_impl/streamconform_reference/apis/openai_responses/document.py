"""The answer without streaming: the events that would have said the same.

Source: https://platform.openai.com/docs/api-reference/responses/object
"""

from __future__ import annotations

from collections.abc import Iterator

from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload

_RUNNING = ("queued", "in_progress")


def as_stream(document: Payload) -> Iterator[Payload]:
    """Yield the end of a stream, which has the whole response, or the start of one that still runs.

    Raises:
        BrokenPayloadError: it is no response.
    """
    status = document.get("status")
    if not (isinstance(document.get("output"), list) or (isinstance(status, str) and "id" in document)):
        raise BrokenPayloadError("the document has no output")
    kind = "created" if status in _RUNNING else status if status in ("incomplete", "failed") else "completed"
    yield {"type": f"response.{kind}", "response": document}
