"""The non-streaming answer of `POST /model/{modelId}/converse`, as events of an equivalent stream.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
"""

from __future__ import annotations

from collections.abc import Iterator

from streamconform_reference.decoding.decoder import BrokenPayloadError, Payload
from streamconform_reference.decoding.fields import read_objects, read_text

from .fields import read_object


def to_payloads(document: Payload) -> Iterator[Payload]:
    """Yield the events, each under its type, in the form that SDKs return.

    If no header names an error document's exception, `__type` does, capitalized.

    Raises:
        BrokenPayloadError: the document has no message.
    """
    exception = document.get("__type")
    if isinstance(exception, str) and "output" not in document:
        yield {exception[:1].lower() + exception[1:]: document}
        return
    content = read_object(read_object(document, "output"), "message").get("content")
    if not isinstance(content, list):
        raise BrokenPayloadError("the document has no message")
    yield {"messageStart": {"role": "assistant"}}
    for number, block in enumerate(content):
        for kind, value in block.items() if isinstance(block, dict) else ():
            for event, body in _split_block(kind, value):
                yield {event: {"contentBlockIndex": number, **body}}
        yield {"contentBlockStop": {"contentBlockIndex": number}}
    stop = {key: document.get(key) for key in ("stopReason", "additionalModelResponseFields")}
    yield {"messageStop": stop}
    yield {"metadata": {key: document[key] for key in ("usage", "serviceTier") if key in document}}


def _split_block(kind: str, value: object) -> Iterator[tuple[str, Payload]]:
    """Yield one block's events with their types, without the block's index."""
    if kind == "text":
        yield "contentBlockDelta", {"delta": {"text": value}}
    elif not isinstance(value, dict):
        raise BrokenPayloadError(f"a block of `{kind}` is not an object")
    elif kind == "reasoningContent":
        plain = read_object(value, "reasoningText")
        flat = {**plain, "redactedContent": read_text(value, "redactedContent")}
        yield "contentBlockDelta", {"delta": {kind: flat}}
    elif kind == "citationsContent":
        for piece in read_objects(value, "content"):
            yield "contentBlockDelta", {"delta": {"text": read_text(piece, "text")}}
        for piece in read_objects(value, "citations"):
            yield "contentBlockDelta", {"delta": {"citation": piece}}
    else:
        yield "contentBlockStart", {"start": {kind: value}}
