"""The non-streaming answer, as the payloads of an equivalent stream.

Source: https://ai.google.dev/api/interactions-api#Resource:Interaction
"""

from __future__ import annotations

from collections.abc import Iterator

from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload
from streamconform_reference.decoding.fields import read_objects


def to_payloads(document: Payload) -> Iterator[Payload]:
    """Yield each step, with all its content in its start, and the end; an error is yielded unchanged.

    Raises:
        BrokenPayloadError: the document has no steps.
    """
    if document.get("error") and "steps" not in document:
        return iter([{"error": document["error"]}])
    if not isinstance(document.get("steps"), list) and document.get("object") != "interaction":
        raise BrokenPayloadError("the document has no steps")
    return _as_stream(document)


def _as_stream(document: Payload) -> Iterator[Payload]:
    for index, step in enumerate(read_objects(document, "steps")):
        yield {"event_type": "step.start", "index": index, "step": step}
        yield {"event_type": "step.stop", "index": index}
    yield {"event_type": "interaction.completed", "interaction": document}
