"""Recording from a real server on loopback: what is stored, what is not, and what ends a recording."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from streamconform.model.cassette import Cassette, ChunkMark, Recorded
from streamconform.suite import cassettes
from streamconform.yaml_text import reader
from streamconform_capture.record.errors import (
    BadAddress,
    BadHeader,
    CannotConnect,
    NoResponse,
    RecordError,
    UnsuitableExchange,
)
from streamconform_capture.record.live import RawRecording, record, record_async, to_cassette

from .server import END, HEAD, Reset, Wait, chunk, serving

KEY = "sk-test-0123456789abcdef"
FRAMES = (b'data: {"n":1}\n\n', b'data: {"text":"\xc3', b'\xa9"}\n\n')
PROVENANCE = Recorded(server="a test", model="m", date="2026-11-21", tool="streamconform 0.1.0")
SCHEMA = Path(cassettes.__file__).parents[1] / "schemas" / "cassette.v1.json"


def ask(base_url: str, **options: Any) -> RawRecording:
    """Record the exchange that most tests are about."""
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "é"}]}
    return record(base_url, "/v1/messages", {}, body, **{"timeout": 10.0} | options)


def test_body_and_chunk_boundaries_are_stored() -> None:
    steps = [step for frame in FRAMES for step in (chunk(frame), Wait(0.05))]
    with serving(HEAD + b"\r\n", *steps, END) as server:
        recording = ask(server.base_url)
    assert recording.status == 200
    assert recording.body == b"".join(FRAMES)
    assert [mark.offset for mark in recording.marks] == [0, 15, 31]
    assert recording.cut is None


def test_times_count_from_the_request_and_never_fall() -> None:
    with serving(HEAD + b"\r\n", Wait(0.1), chunk(b"a"), Wait(0.2), chunk(b"b"), END) as server:
        first, second = ask(server.base_url).marks
    assert 90 <= first.ms < 2000
    assert 150 <= second.ms - first.ms < 2000


def test_chunks_of_one_read_stay_apart() -> None:
    with serving(HEAD + b"\r\n" + chunk(b"ab") + chunk(b"cd") + END) as server:
        assert [mark.offset for mark in ask(server.base_url).marks] == [0, 2]


def test_chunks_are_handed_on_as_they_come() -> None:
    seen: list[tuple[bytes, float]] = []
    with serving(HEAD + b"\r\n", chunk(b"a"), Wait(0.3), chunk(b"b"), END) as server:
        ask(server.base_url, on_chunk=lambda data: seen.append((data, time.monotonic())))
        done = time.monotonic()
    assert [data for data, _ in seen] == [b"a", b"b"]
    assert done - seen[0][1] > 0.2


def test_an_exception_in_the_callback_ends_the_recording() -> None:
    def stop(data: bytes) -> None:
        raise TimeoutError(data)

    with serving(HEAD + b"\r\n", chunk(b"a"), Wait(5)) as server, pytest.raises(TimeoutError, match="a"):
        ask(server.base_url, on_chunk=stop)


def test_the_request_is_sent_unchanged() -> None:
    body = b'{"model": "m",  "stream":true}'
    with serving(HEAD + b"\r\n" + END) as server:
        headers = {"Anthropic-Version": "2023-06-01", "Accept-Encoding": "gzip", "X-Mine": "1"}
        recording = record(server.base_url + "/", "/v1/messages?beta=true", headers, body)
        head, _, sent = server.requests[0].partition(b"\r\n\r\n")
    assert sent == recording.request_body == body
    assert head.startswith(b"POST /v1/messages?beta=true HTTP/1.1\r\n")
    assert b"accept-encoding: identity" in head.lower()
    assert b"x-mine: 1" in head.lower()
    assert recording.path == "/v1/messages?beta=true"
    assert recording.request_headers == {
        "content-type": "application/json",
        "anthropic-version": "2023-06-01",
    }
    assert recording.marks == ()


def test_a_mapping_is_sent_as_compact_json() -> None:
    with serving(HEAD + b"\r\n" + END) as server:
        recording = ask(server.base_url)
    assert recording.request_body == (
        '{"model":"m","stream":true,"messages":[{"role":"user","content":"é"}]}'.encode()
    )


def test_only_allowed_response_headers_are_stored() -> None:
    head = HEAD + b"Request-Id: req_1\r\nSet-Cookie: a=b\r\nDate: now\r\nServer: host7\r\nX-Trace: 1\r\n\r\n"
    with serving(head + END) as server:
        recording = ask(server.base_url)
    assert recording.headers == {"content-type": "text/event-stream", "request-id": "req_1"}


@pytest.mark.parametrize("header", ["x-api-key", "Authorization", "Content-Type"])
def test_the_key_is_sent_and_never_stored(header: str, tmp_path: Path) -> None:
    echo = b'data: {"message":"bad key %s"}\n\n' % KEY.encode()
    head = HEAD + b"Request-Id: %s\r\n\r\n" % KEY.encode()
    with serving(head, chunk(echo[:30]), Wait(0.05), chunk(echo[30:]), END) as server:
        recording = ask(server.base_url, secret_headers={header: f"Bearer {KEY}"})
        assert KEY.encode() in server.requests[0]
    assert KEY not in repr(recording)
    assert recording.body == echo.replace(KEY.encode(), b"x" * len(KEY))
    assert [mark.offset for mark in recording.marks] == [0, 30]
    cassette = to_cassette(recording, api="openai-chat", name="echo", provenance=PROVENANCE)
    cassettes.save(tmp_path, cassette)
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) == 2
    assert not any(KEY.encode() in data for data in written)


def test_a_placeholder_for_a_key_leaves_the_body_alone() -> None:
    with serving(HEAD + b"\r\n" + chunk(b"data: none\n\n") + END) as server:
        recording = ask(server.base_url, secret_headers={"x-api-key": "none"})
    assert recording.body == b"data: none\n\n"


def test_an_http_error_is_a_recording() -> None:
    body = b'{"type":"error"}'
    head = b"HTTP/1.1 529 Overloaded\r\nContent-Type: application/json; charset=utf-8\r\nRetry-After: 7\r\n"
    with serving(head + b"Content-Length: 16\r\n\r\n" + body) as server:
        recording = ask(server.base_url)
    assert (recording.status, recording.body, recording.cut) == (529, body, None)
    assert recording.headers["retry-after"] == "7"
    assert to_cassette(recording, api="anthropic-messages", name="e", provenance=PROVENANCE).suffix == "json"


def test_a_redirect_is_not_followed() -> None:
    with serving(b"HTTP/1.1 307 Elsewhere\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n") as server:
        assert ask(server.base_url).status == 307


def test_a_body_that_only_the_close_ends_is_whole() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    with serving(head, b"data: 1\n\n") as server:
        recording = ask(server.base_url)
    assert (recording.body, recording.cut) == (b"data: 1\n\n", None)


@pytest.mark.parametrize(
    ("steps", "cut"),
    [
        pytest.param((chunk(b"abc"),), "closed", id="close-between-chunks"),
        pytest.param((b"8\r\nabc",), "closed", id="close-inside-a-chunk"),
        pytest.param((chunk(b"abc"), Wait(0.1), b"zz\r\nno chunk"), "closed", id="no-longer-http"),
        pytest.param((chunk(b"abc"), Wait(0.1), Reset()), "reset", id="reset"),
    ],
)
def test_the_bytes_before_a_cut_are_stored(steps: tuple[bytes | Wait | Reset, ...], cut: str) -> None:
    with serving(HEAD + b"\r\n", *steps) as server:
        recording = ask(server.base_url)
    assert (recording.status, recording.body, recording.cut) == (200, b"abc", cut)


def test_a_slow_server_is_cut_off_at_the_deadline() -> None:
    began = time.monotonic()
    with serving(HEAD + b"\r\n", chunk(b"abc"), Wait(8)) as server:
        recording = ask(server.base_url, timeout=1.5)
    assert time.monotonic() - began < 4
    assert (recording.body, recording.cut) == (b"abc", "timeout")


def test_a_dripping_server_is_cut_off_at_the_deadline() -> None:
    """Each byte comes in time, but the deadline applies to the entire exchange."""
    drops = [step for _ in range(60) for step in (chunk(b"."), Wait(0.1))]
    began = time.monotonic()
    with serving(HEAD + b"\r\n", *drops) as server:
        recording = ask(server.base_url, timeout=1.5)
    assert time.monotonic() - began < 4
    assert recording.cut == "timeout"
    assert 1 <= len(recording.body) < 30


@pytest.mark.parametrize(("bound", "kept"), [(4, b"abcd"), (3, b"abc"), (6, b"abcdef")])
def test_a_large_body_is_stored_up_to_the_limit(bound: int, kept: bytes) -> None:
    with serving(HEAD + b"\r\n", chunk(b"abc"), Wait(0.05), chunk(b"def"), chunk(b"ghi"), Wait(5)) as server:
        recording = ask(server.base_url, max_bytes=bound)
    assert (recording.body, recording.cut) == (kept, "too_large")
    assert all(mark.offset < len(kept) for mark in recording.marks)


def test_a_body_of_exactly_the_bound_is_whole() -> None:
    with serving(HEAD + b"\r\n" + chunk(b"abc") + END) as server:
        assert ask(server.base_url, max_bytes=3).cut is None


def test_the_environment_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serving(HEAD + b"\r\n" + END) as server:
        assert ask(server.base_url).status == 200


def test_it_records_inside_a_running_loop() -> None:
    async def main(base_url: str) -> RawRecording:
        return await record_async(base_url, "/v1/messages", {}, {})

    with serving(HEAD + b"\r\n" + chunk(b"abc") + END) as server:
        assert asyncio.run(main(server.base_url)).body == b"abc"


def test_a_refused_connection_names_the_address_and_the_fix() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(CannotConnect) as caught:
        ask(f"http://user:{KEY}@127.0.0.1:{port}")
    assert str(caught.value).startswith(f"cannot connect to `http://127.0.0.1:{port}/v1/messages`: ")
    assert str(caught.value).endswith("Start the server, or check the host and port of the base URL.")


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param((), id="closes"),
        pytest.param((b"SSH-2.0-OpenSSH\r\n",), id="another-protocol"),
        pytest.param((Reset(),), id="resets"),
        pytest.param((Wait(8),), id="says-nothing"),
        pytest.param((b"HTTP/1.1 200 OK\r\n", Wait(8)), id="half-a-head"),
    ],
)
def test_no_http_answer_is_an_error(steps: tuple[bytes | Wait | Reset, ...]) -> None:
    with serving(*steps) as server, pytest.raises(NoResponse, match="no HTTP response from `http://127"):
        ask(server.base_url, timeout=1.5)


@pytest.mark.parametrize(
    ("base_url", "path"),
    [
        pytest.param("ftp://127.0.0.1", "/x", id="scheme"),
        pytest.param("127.0.0.1:80", "/x", id="no-scheme"),
        pytest.param("http://", "/x", id="no-host"),
        pytest.param("http://127.0.0.1:port", "/x", id="no-port-number"),
        pytest.param("http://127.0.0.1", "x", id="relative-path"),
        pytest.param("http://127.0.0.1", f"/x?alt=sse&Key={KEY}", id="key-in-the-query"),
    ],
)
def test_an_address_that_cannot_work_is_refused(base_url: str, path: str) -> None:
    with pytest.raises(BadAddress) as caught:
        record(base_url, path, {}, {})
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("value", [f"{KEY}\n", f" {KEY}", f"{KEY}é", f"a\r\nx: {KEY}"])
def test_an_unsendable_key_is_refused_without_being_quoted(value: str) -> None:
    with pytest.raises(BadHeader, match="header `x-api-key`") as caught:
        record("http://127.0.0.1:9", "/x", {}, {}, secret_headers={"x-api-key": value})
    assert KEY not in str(caught.value)


PLAIN = RawRecording(
    path="/v1/messages",
    request_headers={"content-type": "application/json"},
    request_body=b'{"model":"m"}',
    status=200,
    headers={"content-type": "text/event-stream"},
    body=b"data: 1\n\n",
    received=9,
    marks=(ChunkMark(0, 3),),
    cut=None,
)


def cassette_of(**changes: Any) -> Cassette:
    """Make a cassette from a plain recording with `changes`."""
    recording = replace(PLAIN, **changes)
    return to_cassette(recording, api="anthropic-messages", name="c", provenance=PROVENANCE)


def test_a_saved_recording_fits_the_schema_and_loads_back(tmp_path: Path) -> None:
    cassette = cassette_of()
    path = cassettes.save(tmp_path, cassette)
    assert cassettes.load(tmp_path, "anthropic-messages", "c") == cassette
    jsonschema.validate(reader.read(path).value, json.loads(SCHEMA.read_text(encoding="utf-8")))


def test_the_note_mentions_a_cut() -> None:
    assert cassette_of(cut="reset").provenance.note == "The recording ends after 9 bytes: reset."


@pytest.mark.parametrize(
    ("content_type", "suffix"),
    [
        ("text/event-stream; charset=utf-8", "sse"),
        ("application/x-ndjson", "ndjson"),
        ("Application/JSON", "json"),
        ("application/vnd.amazon.eventstream", "eventstream"),
        ("text/html", "sse"),
    ],
)
def test_the_suffix_follows_the_media_type(content_type: str, suffix: str) -> None:
    assert cassette_of(headers={"content-type": content_type}).suffix == suffix


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff"])
def test_a_request_that_is_no_json_object_makes_no_cassette(body: bytes) -> None:
    with pytest.raises(UnsuitableExchange, match="request body is not"):
        cassette_of(request_body=body)


def test_a_compressed_body_makes_no_cassette() -> None:
    headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    with pytest.raises(UnsuitableExchange, match="content-encoding `gzip`"):
        cassette_of(headers=headers, body=gzip.compress(b"data: 1\n\n"))


def test_every_error_is_one_line_for_people() -> None:
    for kind in (BadAddress, BadHeader, CannotConnect, NoResponse, UnsuitableExchange):
        error = kind("http://host/x", "why")
        assert isinstance(error, RecordError)
        assert "`http://host/x`: why." in str(error)
        assert "\n" not in str(error)
