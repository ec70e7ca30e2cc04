"""The non-streaming answer, as a single chunk.

Source: https://platform.openai.com/docs/api-reference/chat/object
"""

from __future__ import annotations

from collections.abc import Iterator

from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload


def to_payloads(document: Payload) -> Iterator[Payload]:
    """Yield the document as a chunk; its calls, which are complete, are numbered in order.

    Azure omits the message of a choice that its filter blocked, but not the reason:
    https://learn.microsoft.com/en-us/azure/ai-services/openai/concepts/content-filter

    Raises:
        BrokenPayloadError: the document has no message and no reason.
    """
    choices = document.get("choices")
    matching = (
        [c for c in choices if isinstance(c, dict) and not c.get("index")]
        if isinstance(choices, list)
        else []
    )
    message = matching[0].get("message") if matching else None
    if message is None and matching and (matching[0].get("finish_reason") or matching[0].get("error")):
        message = {}
    if not isinstance(message, dict):
        raise BrokenPayloadError("the document has no message")
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        numbered = [{**c, "index": n} if isinstance(c, dict) else c for n, c in enumerate(calls)]
        message = {**message, "tool_calls": numbered}
    yield {**document, "choices": [{**matching[0], "delta": message}]}
