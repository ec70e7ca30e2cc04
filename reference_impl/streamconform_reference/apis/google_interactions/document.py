"""The non-streaming answer, as the payloads of an equivalent stream.

Source: https://ai.google.dev/api/interactions-api#Resource:Interaction
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload

_RUNNING: Final = "in_progress"


def to_payloads(document: Payload) -> Iterator[Payload]:
    """Yield the end with all steps, the start if the interaction is still in progress, or the error.

    Until June 2026, an interaction had content items in `outputs` in place of steps:
    https://ai.google.dev/gemini-api/docs/interactions-breaking-changes-may-2026

    Raises:
        BrokenPayloadError: the document is not an interaction, or is completed but lists nothing: `steps` is
            a required field, and begins with the user's input.
    """
    lists = [steps for key in ("steps", "outputs") if isinstance(steps := document.get(key), list)]
    if document.get("error") and not lists:
        yield {"error": document["error"]}
        return
    if not lists and document.get("object") != "interaction":
        raise BrokenPayloadError("the document has no steps")
    if document.get("status") == "completed" and not any(lists):
        raise BrokenPayloadError("the interaction is completed, but has neither steps nor outputs")
    kind = "created" if document.get("status") == _RUNNING else "completed"
    yield {"event_type": f"interaction.{kind}", "interaction": document}
