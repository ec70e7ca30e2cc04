"""Bodies printed by curl, and payloads without their framing."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from streamconform.apis import APIS
from streamconform.errors import SourceError
from streamconform.wire import eventstream, invoke_stream
from streamconform.wire.reframe import NotPayloadError, restore_framing
from streamconform_capture.importers import import_file

from ..harness.builders import TEXT_FRAMES, sse_body

BODY = sse_body(TEXT_FRAMES)
API = "anthropic-messages"
HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nSet-Cookie: a=b\r\nrequest-id: r-1\r\n\r\n"


def cassette(data, name="incident.sse", api=API):
    found = import_file(Path(name), data if isinstance(data, bytes) else data.encode(), api, None)
    (made,) = found.cassettes
    return made


def test_a_plain_body_is_kept_byte_for_byte():
    made = cassette(BODY)
    assert made.body == BODY
    assert made.headers == {"content-type": "text/event-stream"}
    assert (made.suffix, made.request.path, made.request.body) == ("sse", "/v1/messages", {"stream": True})
    assert made.provenance.note == "The request was not recorded; a minimal one replaces it."


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(HEAD, id="http1"),
        pytest.param(HEAD.replace("\r\n", "\n"), id="lf"),
        pytest.param(HEAD.replace("HTTP/1.1 200 OK", "HTTP/2 200 "), id="http2"),
        pytest.param("HTTP/1.1 100 Continue\r\n\r\n" + HEAD, id="continue"),
        pytest.param("HTTP/1.1 200 Connection established\r\n\r\n" + HEAD, id="proxy"),
        pytest.param("HTTP/1.1 307 Moved\r\nlocation: /b\r\n\r\n" + HEAD, id="redirect"),
    ],
)
def test_headers_in_front_are_taken_off_and_kept_by_allow_list(head):
    made = cassette(head.encode() + BODY)
    assert made.body == BODY
    assert set(made.headers) == {"content-type", "request-id"}
    assert made.headers["content-type"] == "text/event-stream"


def test_an_error_document_keeps_its_status():
    error = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    made = cassette(f"HTTP/1.1 529 \r\ncontent-type: application/json\r\nretry-after: 5\r\n\r\n{error}")
    assert (made.status, made.suffix, made.headers["retry-after"]) == (529, "json", "5")


def test_a_body_that_came_compressed_is_decoded():
    head = HEAD.replace("Set-Cookie: a=b", "Content-Encoding: gzip")
    made = cassette(head.encode() + gzip.compress(BODY))
    assert made.body == BODY
    assert "content-encoding" not in made.headers


def test_payloads_get_the_framing_of_their_api_back():
    lines = "\n".join(json.dumps(each, ensure_ascii=False) for each in TEXT_FRAMES)
    made = cassette(lines + "\n\n", "stripped.jsonl")
    assert made.body == BODY
    assert made.suffix == "sse"
    assert " framing restored" in made.provenance.recipe


@pytest.mark.parametrize(
    ("api", "body"),
    [
        ("anthropic-messages", b'event: a\ndata: {"type":"a"}\n\n'),
        ("openai-responses", b'event: a\ndata: {"type":"a"}\n\n'),
        ("cohere-chat", b'event: a\ndata: {"type":"a"}\n\n'),
        ("openai-chat", b'data: {"type":"a"}\n\ndata: [DONE]\n\n'),
        ("google-generate", b'data: {"type":"a"}\n\n'),
        ("ollama-chat", b'{"type":"a"}\n'),
    ],
)
def test_each_api_has_its_own_framing(api, body):
    assert restore_framing(b'\n{"type":"a"}\r\n', APIS[api].write) == body


def test_a_binary_message_is_named_by_its_only_key_and_holds_what_stood_there():
    body = restore_framing(
        '{"a": {"n":1.50, "t":"\\u00fcü"}}\n{"b":{}}\n'.encode(), APIS["bedrock-converse"].write
    )
    frames = eventstream.split(body)
    assert [(each.event, each.payload.decode()) for each in frames] == [
        ("a", '{"n":1.50, "t":"\\u00fcü"}'),
        ("b", "{}"),
    ]
    assert frames[-1].end == len(body)


@pytest.mark.parametrize("line", [b"{}", b'{"a":1,"b":2}'])
def test_a_payload_that_does_not_name_one_event_is_refused(line):
    with pytest.raises(NotPayloadError, match="payload 2 is not an object with one key"):
        restore_framing(b'{"a":{}}\n' + line, APIS["bedrock-converse"].write)


def test_an_imported_event_stream_without_its_secrets_has_sound_checksums():
    address = b"somebody@somewhere.dev"
    body = eventstream.encode_event(b'{"text":"%s"}' % address, "contentBlockDelta")
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/vnd.amazon.eventstream\r\n\r\n"
    (made,) = import_file(Path("a.eventstream"), head + body, "bedrock-converse", None).cassettes
    assert made.suffix == "eventstream"
    assert len(made.body) == len(body)
    assert address not in made.body
    assert len(eventstream.split(made.body)) == 1


def test_secrets_are_also_replaced_in_the_events_of_a_model():
    address = b"somebody@somewhere.dev"
    body = invoke_stream.encode_event(b'{"type":"message_stop","text":"%s"}' % address)
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/vnd.amazon.eventstream\r\n\r\n"
    (made,) = import_file(Path("a.eventstream"), head + body, "bedrock-invoke", None).cassettes
    (frame,) = invoke_stream.split(made.body)
    assert len(made.body) == len(body)
    assert frame.payload.startswith(b'{"type":"message_stop","text":"xxx')
    assert address not in frame.payload


WRONG = {
    "no api": ("a.jsonl", b'{"x":1}', None, "cannot detect the API from the first payload; pass --api"),
    "no string": ("a.jsonl", b'"data: 1"\n7\n', None, "line 2 is not a JSON string, unlike the first line"),
    "no end of headers": (
        "a.txt",
        b"HTTP/1.1 200 OK\r\ncontent-type: x\r\n",
        API,
        "no empty line after the headers",
    ),
    "still chunked": (
        "a.txt",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1a\r\ndata: x\r\n",
        API,
        "still has HTTP's chunked transfer encoding",
    ),
    "heads for ever": ("a.txt", b"HTTP/1.1 100 Continue\r\n\r\n" * 50, API, "more than 20 response heads"),
    "a line that is no object": ("a.jsonl", b'{"type":"a"}\n[1]\n', API, "line 2 is not a JSON object"),
    "no line": ("a.jsonl", b"\n\n", API, "the file has no lines"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_read_is_reported(name):
    file, data, api, words = WRONG[name]
    with pytest.raises(SourceError, match=words):
        import_file(Path(file), data, api, None)


@pytest.mark.parametrize("data", [b"", b"HTTP/1.1 204 No Content\r\n\r\n"])
def test_a_file_without_a_body_is_left_out(data):
    (left,) = import_file(Path("a.sse"), data, API, None).skipped
    assert "it has no body" in left.why
