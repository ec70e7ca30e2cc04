"""Folders of recordings: which files are read, and the messages about the others."""

from __future__ import annotations

import hashlib
import json

import pytest

from streamconform.apis import APIS
from streamconform.errors import SourceError, UsageError
from streamconform.model.case import NOTHING_EXPECTED
from streamconform.suite import cassettes
from streamconform.wire import eventstream
from streamconform_capture.compare.inputs import read

from ..harness.builders import ANTHROPIC, TEXT_FRAMES, cassette, sse_body

BODY = sse_body(TEXT_FRAMES)
LINES = "\n".join(json.dumps(each, ensure_ascii=False) for each in TEXT_FRAMES).encode()


def place(folder, files):
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())


def manifest(*entries):
    return b"".join(json.dumps(each).encode() + b"\n" for each in entries)


def names(found):
    return [case.id for case in found.cases]


def test_a_plain_folder_is_read_by_the_names_of_its_folders(tmp_path):
    place(
        tmp_path,
        {
            f"{ANTHROPIC}/b.sse": BODY,
            f"{ANTHROPIC}/a.1.jsonl": LINES,
            f"{ANTHROPIC}/a.1.request.json": {"model": "m"},
            f"{ANTHROPIC}/notes.txt": b"x",
            "future-api/c.sse": b"data: 1\n\n",
            "README.md": b"x",
        },
    )
    found = read(tmp_path, (), None)
    assert names(found) == [f"{ANTHROPIC}/a.1.jsonl", f"{ANTHROPIC}/b.sse"]
    assert {case.cassette.body for case in found.cases} == {BODY}
    assert all(case.expect == NOTHING_EXPECTED for case in found.cases)
    assert found.cases[0].cassette.model == "m"
    assert found.cases[0].cassette.headers == {"content-type": "text/event-stream"}
    (unread,) = found.unread
    assert unread.file == "future-api/c.sse"
    assert unread.reason == "the API future-api is not known to this version"


def test_a_body_gets_the_media_type_of_its_framing(tmp_path):
    place(
        tmp_path,
        {
            "bedrock-converse/a.jsonl": b'{"messageStop":{"stopReason":"end_turn"}}\n',
            "bedrock-converse/b.eventstream": eventstream.encode_event(b"{}", "messageStop"),
            "cohere-v1/c.ndjson": b'{"event_type":"stream-end"}\n',
            "cohere-v2/d.jsonl": b'{"type":"message-end"}\n',
            "google-generate/e.json": b"[{}]",
            "ollama-chat/f.jsonl": b'{"done":true}\n',
        },
    )
    found = read(tmp_path, (), None)
    assert found.unread == ()
    assert [(each.api, each.cassette.content_type) for each in found.cases] == [
        ("bedrock-converse", "application/vnd.amazon.eventstream"),
        ("bedrock-converse", "application/vnd.amazon.eventstream"),
        ("cohere-chat", "application/x-ndjson"),
        ("cohere-chat", "text/event-stream"),
        ("google-generate", "application/json"),
        ("ollama-chat", "application/x-ndjson"),
    ]
    assert [APIS[each.api].detect_framing(200, each.cassette.body) for each in found.cases] == [
        "eventstream",
        "eventstream",
        "ndjson",
        "sse",
        "json_array",
        "ndjson",
    ]


def test_a_manifest_determines_api_status_and_content_type(tmp_path):
    digest = hashlib.sha256(BODY).hexdigest()
    place(
        tmp_path,
        {
            "x/one.sse": BODY,
            "x/error.json": b"{}",
            "x/unlisted.sse": BODY,
            "manifest.jsonl": manifest(
                {"file": "x/one.sse", "api": ANTHROPIC, "status": 200, "sha256": digest},
                {"file": "x/error.json", "api": ANTHROPIC, "status": 401, "content_type": "application/json"},
                {"file": "x/gone.sse", "api": ANTHROPIC},
                {"file": "../outside.sse", "api": ANTHROPIC},
                {"file": "x/one.sse", "api": ANTHROPIC, "sha256": "0" * 64},
                {"file": "x/v1.ndjson", "api": "cohere-v1"},
            ),
        },
    )
    found = read(tmp_path, (), None)
    assert names(found) == ["x/one.sse", "x/error.json"]
    assert (found.cases[1].cassette.status, found.cases[1].cassette.content_type) == (401, "application/json")
    assert [(each.api, each.reason) for each in found.unread][:3] == [
        (ANTHROPIC, "it cannot be read: No such file or directory"),
        (ANTHROPIC, "it lies outside the folder"),
        (ANTHROPIC, "its bytes do not match the digest in the manifest"),
    ]
    assert found.unread[3].api == "cohere-chat"


def test_our_own_cassettes_keep_status_and_cuts(tmp_path):
    cassettes.save(tmp_path, cassette(BODY, status=500, marks=[(0, 1), (7, 2)]))
    (case,) = read(tmp_path, (), None).cases
    assert (case.cassette.status, len(case.cassette.marks)) == (500, 2)


def test_a_filter_and_a_limit_count_by_api(tmp_path):
    place(tmp_path, {f"{api}/{n}.sse": BODY for api in (ANTHROPIC, "openai-chat") for n in range(3)})
    assert names(read(tmp_path, (), 1)) == [f"{ANTHROPIC}/0.sse", "openai-chat/0.sse"]
    assert names(read(tmp_path, ("openai-chat",), 2)) == ["openai-chat/0.sse", "openai-chat/1.sse"]


def test_payloads_that_are_none_are_not_read(tmp_path):
    place(tmp_path, {f"{ANTHROPIC}/a.jsonl": b'{"type":"a"}\nnot json\n'})
    assert [each.reason for each in read(tmp_path, (), None).unread] == ["line 2 is not a JSON object"]


def test_a_folder_without_recordings_is_a_mistake(tmp_path):
    with pytest.raises(UsageError, match="contains no recording; expected"):
        read(tmp_path, (), None)
    place(tmp_path, {f"{ANTHROPIC}/a.sse": BODY})
    with pytest.raises(UsageError, match="contains no recording of openai-chat"):
        read(tmp_path, ("openai-chat",), None)
    with pytest.raises(UsageError, match="is neither a folder nor a file with one of the suffixes"):
        read(tmp_path / "nowhere", (), None)


@pytest.mark.parametrize("line", [b"{", b"[]", b"{}", b'{"file": "a"}', b'{"file": "a", "api": []}'])
def test_a_broken_manifest_is_reported_with_its_line(tmp_path, line):
    place(tmp_path, {"manifest.jsonl": manifest({"file": "a.sse", "api": "x"}) + line})
    with pytest.raises(SourceError, match=r"manifest\.jsonl:2: expected a JSON object"):
        read(tmp_path, (), None)
