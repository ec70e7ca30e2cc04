"""Every recording is read once, regardless of the format, the division and the location."""

from __future__ import annotations

import functools
import gzip
import http.server
import json
import threading
from pathlib import Path

import fsspec
import pytest

from streamconform.errors import SourceError, UsageError
from streamconform.model.case import Case
from streamconform_capture.compare.inputs import find_format, measure_input, read, read_partition, split_input

from .collections import FORMS, encode_lines, make_streams

STREAMS = make_streams(45)
WHOLE = 2**30


def read_all(url, size):
    """Return the recordings that are read, and the number of partitions."""
    partitions = list(split_input(str(url), size))
    found = [recording for partition in partitions for recording in read_partition(partition)]
    assert all(isinstance(each, Case) for each in found), found
    return found, len(partitions)


def pairs(found):
    return sorted((case.api, case.cassette.body) for case in found)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_every_recording_once_under_a_name_of_its_own(tmp_path, form):
    path = tmp_path / form
    FORMS[form](path, STREAMS)
    whole, _ = read_all(path, WHOLE)
    assert pairs(whole) == sorted(STREAMS)
    for size in (211, 700, 5_000):
        parts, _ = read_all(path, size)
        assert {case.id: case.cassette.body for case in parts} == {
            case.id: case.cassette.body for case in whole
        }, size
    assert len({case.id for case in whole}) == len(STREAMS)


@pytest.mark.parametrize("form", ["folder", "a.tar", "a.zip", "a.jsonl", "a.parquet"])
def test_what_can_be_divided_is_divided_by_bytes(tmp_path, form):
    path = tmp_path / form
    FORMS[form](path, STREAMS)
    assert read_all(path, 1_000)[1] > 5
    assert measure_input(str(path)) > 0


def test_identifiers_of_partitions_follow_from_the_division(tmp_path):
    FORMS["a.tar"](tmp_path / "a.tar", STREAMS)
    once, again, other = (
        [partition.id for partition in split_input(str(tmp_path / "a.tar"), size)]
        for size in (900, 900, 9_000)
    )
    assert once == again
    assert len(set(once)) == len(once)
    assert set(once) != set(other)


@pytest.mark.parametrize("form", ["folder", "manifest", "a.tar", "a.jsonl", "a.parquet"])
def test_a_file_system_in_memory_is_read_like_a_local_one(tmp_path, form):
    FORMS[form](tmp_path / form, STREAMS)
    memory = fsspec.filesystem("memory")
    memory.put(str(tmp_path / form), f"/inputs/{form}", recursive=True)
    try:
        assert pairs(read_all(f"memory://inputs/{form}", 3_000)[0]) == sorted(STREAMS)
    finally:
        memory.rm("/inputs", recursive=True)


def test_a_file_on_a_web_server_is_read_in_ranges(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(encode_lines(STREAMS))
    handler = functools.partial(QuietHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/a.jsonl"
        assert pairs(read_all(url, 5_000)[0]) == sorted(STREAMS)
        server.shutdown()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Answers requests for a range of bytes, and logs nothing."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        requested = self.headers.get("range")
        if requested is None:
            super().do_GET()
            return
        start, _, end = requested.removeprefix("bytes=").partition("-")
        data = Path(self.translate_path(self.path)).read_bytes()
        part = data[int(start) : int(end) + 1]
        self.send_response(206)
        self.send_header("content-range", f"bytes {start}-{int(start) + len(part) - 1}/{len(data)}")
        self.send_header("content-length", str(len(part)))
        self.end_headers()
        self.wfile.write(part)


BROKEN = {
    "a.tar": (b"no archive at all" * 100, "the archive is broken"),
    "a.zip": (b"no archive at all" * 100, "the archive is broken"),
    "a.jsonl.gz": (
        gzip.compress(encode_lines(STREAMS))[:-400],
        "it ends inside a gzip member after recording 44",
    ),
    "a.parquet": (b"PAR1 and no more", "not a Parquet file"),
    "a.warc": (b"no archive", "the archive is broken"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_named_with_the_reason(tmp_path, name):
    data, reason = BROKEN[name]
    (tmp_path / name).write_bytes(data)
    try:
        (unread,) = read(tmp_path / name).unread
        message = f"{unread.file}: {unread.reason}"
    except SourceError as error:
        message = str(error)
    assert name in message
    assert reason in message


LINES = {
    "no JSON": b"{",
    "no object": b"[]",
    "no body": b'{"api": "openai-chat"}',
    "no base64": b'{"api": "openai-chat", "body_base64": "?"}',
}


@pytest.mark.parametrize("name", LINES)
def test_a_line_that_is_no_recording_is_counted(tmp_path, name):
    good = encode_lines(STREAMS[:1])
    (tmp_path / "a.jsonl").write_bytes(good + LINES[name] + b"\n\n" + good)
    found = read(tmp_path / "a.jsonl")
    assert len(found.cases) == 2
    (unread,) = found.unread
    assert (unread.file, unread.reason) == (
        f"a.jsonl#{len(good)}",
        "expected a JSON object with `api` and `body`",
    )


def test_a_recording_of_an_unknown_api_is_counted(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({"api": "future-api", "body": "data: 1\n\n"}))
    assert read(tmp_path / "a.jsonl").unread[0].reason == "the API future-api is not known to this version"


def test_an_input_that_is_none_is_a_mistake(tmp_path):
    for url in (f"{tmp_path}/none.tar", f"{tmp_path}/none.txt", "nothing://x/a.tar"):
        with pytest.raises(UsageError, match=r"none|nothing"):
            find_format(url)


CHAT = {"choices": [{"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"}]}
WHOLE_ANSWERS = [
    ("openai-chat/a.json", CHAT, None, False),
    ("anthropic-messages/a.json", {"type": "message", "content": [], "stop_reason": "end_turn"}, None, False),
    ("ollama-chat/a.json", {"message": {"content": "Hi"}, "done": True}, None, False),
    ("google-generate/a.json", {"candidates": [{"finishReason": "STOP"}]}, None, False),
    ("google-generate/a.json", [{"candidates": [{"finishReason": "STOP"}]}], None, True),
    ("openai-chat/a.json", CHAT, {"stream": True}, True),
    ("ollama-chat/a.ndjson", {"message": {"content": "Hi"}, "done": True}, None, True),
]


@pytest.mark.parametrize(("file", "body", "request_body", "streams"), WHOLE_ANSWERS)
def test_an_answer_that_does_not_stream_is_a_document(tmp_path, file, body, request_body, streams):
    path = tmp_path / file
    path.parent.mkdir()
    path.write_text(json.dumps(body), "utf-8")
    if request_body is not None:
        path.with_suffix(".request.json").write_text(json.dumps(request_body), "utf-8")
    ((case,), _) = read_all(tmp_path, WHOLE)
    assert case.stream is streams
