"""The non-streaming answer of v1 or v2, as the payloads of an equivalent stream.

Source: https://docs.cohere.com/reference/chat, https://docs.cohere.com/reference/chat-v1
"""

from __future__ import annotations

from collections.abc import Iterator

from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload
from streamconform_reference.decoding.fields import read_objects

# Only v1 answers have these fields, next to their text.
_V1_IDS = ("generation_id", "response_id", "chat_history")


def to_payloads(document: Payload) -> Iterator[Payload]:
    """Yield v2's events, v1's end event with the complete answer, or an error unchanged.

    Raises:
        BrokenPayloadError: the document has no message.
    """
    message = document.get("message")
    if isinstance(message, dict):
        return _as_v2(document, message)
    if isinstance(message, str) and "text" not in document:
        return iter([{"message": message}])
    if isinstance(document.get("text"), str) and any(name in document for name in _V1_IDS):
        return iter([{"event_type": "stream-end", "response": document}])
    raise BrokenPayloadError("the document has no message")


def _as_v2(document: Payload, message: Payload) -> Iterator[Payload]:
    yield {"type": "message-start", "id": document.get("id")}
    for index, content in enumerate(read_objects(message, "content")):
        yield {"type": "content-start", "index": index, **_delta(content=content)}
        yield {"type": "content-end", "index": index}
    yield {"type": "tool-plan-delta", **_delta(tool_plan=message.get("tool_plan"))}
    for index, call in enumerate(read_objects(message, "tool_calls")):
        yield {"type": "tool-call-start", "index": index, **_delta(tool_calls=call)}
        yield {"type": "tool-call-end", "index": index}
    for citation in read_objects(message, "citations"):
        yield {"type": "citation-start", **_delta(citations=citation)}
    yield {"type": "message-end", "delta": document}


def _delta(**message: object) -> Payload:
    return {"delta": {"message": message}}
