"""A JSON error that a server sends as an event stream is read as the error, in every API."""

from __future__ import annotations

import json

import pytest

from streamconform_dev.fuzz.exchange import decode
from streamconform_reference import DECODERS

from ..for_each import for_each

ERROR = {"error": {"message": "Overloaded", "type": "overloaded_error"}}
LINE, INDENTED = json.dumps(ERROR).encode(), json.dumps(ERROR, indent=2).encode()
BODIES = {
    "document": LINE,
    "indented": INDENTED,
    "with-crlf": INDENTED.replace(b"\n", b"\r\n") + b"\r\n",
    "data": b"data: " + LINE + b"\n\n",
    "data-without-space": b"data:" + LINE + b"\r\n\r\n",
    "event-and-data": b"event: error\ndata: " + LINE + b"\n\ndata: [DONE]\n\n",
    "a-data-line-per-line": b"data: " + INDENTED.replace(b"\n", b"\ndata: ") + b"\n\n",
    "after-comments": b": processing\n\n: processing\n\n" + LINE + b"\n",
    "in-a-list": b"[" + LINE + b"]",
}
TYPES = {"content-type": "text/event-stream"}


@for_each("status", [200, 503])
@for_each("body", [pytest.param(body, id=name) for name, body in BODIES.items()])
@for_each("api", DECODERS)
def test_an_error_as_an_event_stream_is_the_error(api: str, body: bytes, status: int) -> None:
    for chunks in (body, [body[:9], body[9:]]):
        outcome = decode(chunks, api=api, status=status, headers=TYPES).outcome
        assert (outcome["status"], outcome["error"]["message"]) == ("error", "Overloaded")


@pytest.mark.parametrize("api", ["anthropic-messages", "openai-chat", "openai-responses", "cohere-chat"])
def test_an_error_event_is_an_error_whatever_its_envelope(api: str) -> None:
    body = b'event: error\ndata: {"detail": "Overloaded"}\n\n'
    outcome = decode(body, api=api).outcome
    assert (outcome["status"], outcome["error"]["message"]) == ("error", "Overloaded")


@pytest.mark.parametrize("api", ["anthropic-messages", "openai-chat", "openai-responses", "cohere-chat"])
@pytest.mark.parametrize("body", [b": processing\n\n", b": processing\n\n{", b'data: {"error"'])
def test_a_stream_without_a_whole_document_is_incomplete(api: str, body: bytes) -> None:
    assert decode(body, api=api).outcome["status"] == "incomplete"
