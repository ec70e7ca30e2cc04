"""The non-streaming answer of `POST /model/{modelId}/invoke`, as events of an equivalent stream.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html; the document is
Anthropic's, with additional service fields.
"""

from __future__ import annotations

from collections.abc import Iterator

from streamconform_reference.apis.anthropic_messages.document import to_payloads as to_anthropic_payloads
from streamconform_reference.apis.bedrock_converse.failures import EXCEPTIONS
from streamconform_reference.decoding.decoder import Payload

from .decode import GUARDRAIL, METRICS
from .families import refuse_other_families


def to_payloads(document: Payload) -> Iterator[Payload]:
    """Yield the events.

    If no header names the exception of an error document, `__type` does, capitalized.

    Raises:
        BrokenPayloadError: the document has no content, or is another model family's.
    """
    refuse_other_families(document)
    exception = document.get("__type")
    if isinstance(exception, str) and "content" not in document:
        kind = exception[:1].lower() + exception[1:]
        error = {"type": kind, "message": document.get("message"), "status": EXCEPTIONS.get(kind)}
        yield {"type": "error", "error": error}
        return
    for payload in to_anthropic_payloads(document):
        if payload["type"] == "message_stop":
            payload |= {key: document[key] for key in (GUARDRAIL, METRICS) if key in document}
        yield payload
