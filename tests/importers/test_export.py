"""Files of `serve --to` can be imported again, and vcrpy replays them to real HTTP libraries."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import httpx
import pytest
import requests
import vcr
from vcr.persisters.filesystem import FilesystemPersister

from streamconform.apis import APIS
from streamconform.replay.formats import FORMATS, find_base_url
from streamconform.suite import cassettes
from streamconform_capture.importers import import_file
from streamconform_capture.vcr import Persister

from ..cli.project import Project

FOLDER = Path(__file__).parents[2] / "cassettes"
SAMPLE = [
    cassettes.load(FOLDER, api, sorted(path.stem for path in (FOLDER / api).glob("*.yaml"))[number])
    for api in APIS
    for number in (3, -4)
]
STREAMED = [each for each in SAMPLE if APIS[each.api].detect_framing(each.status, each.body) != "document"]


def ids(cassette):
    return f"{cassette.api}/{cassette.name}"


@pytest.mark.parametrize("form", ["raw", "har", "vcr"])
@pytest.mark.parametrize("cassette", STREAMED, ids=ids)
def test_what_is_exported_is_imported_byte_for_byte(cassette, form):
    export, suffix = FORMATS[form]
    data = export(cassette, find_base_url(cassette))
    file = Path(f"a.{suffix or cassette.suffix}")
    found = import_file(file, data, cassette.api, None)
    if not found.cassettes:  # broken on purpose, so that no frame identifies the API
        assert "its API is not" in found.skipped[0].why or "not a stream" in found.skipped[0].why
        return
    (made,) = found.cassettes
    assert made.body == cassette.body
    assert made.status == (cassette.status if form != "raw" else 200)


def test_payloads_are_exported_one_per_line():
    cassette = cassettes.load(FOLDER, "openai-chat", "parallel-calls")
    export, _ = FORMATS["jsonl"]
    lines = export(cassette, "").splitlines()
    assert len(lines) > 3
    assert all(json.loads(line)["object"] == "chat.completion.chunk" for line in lines)


def test_the_verb_writes_files_and_overwrites_none(tmp_path):
    project = Project(tmp_path)
    words = ("serve", "-k", "openai-chat/tool-calls/**", "--to", "vcr", "--out", "kept")
    ran = project.run(*words)
    assert ran.code == 0, ran.err
    assert (tmp_path / "kept/openai-chat/parallel-calls.yaml").is_file()
    again = project.run(*words)
    assert again.code == 2
    assert "exists; choose another folder with `--out`" in again.err
    assert project.run("serve", "-k", "no-such-case", "--to", "raw").code == 2


def with_httpx(url, body):
    return httpx.post(url, json=body).content


def with_requests(url, body):
    return requests.post(url, json=body, timeout=5).content


def with_urllib(url, body):
    headers = {"content-type": "application/json"}
    sent = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310 - https
    with urllib.request.urlopen(sent, timeout=5) as answer:  # noqa: S310 - vcrpy answers
        return answer.read()


@pytest.mark.parametrize("post", [with_httpx, with_requests, with_urllib])
@pytest.mark.parametrize("folder", ["bundled", "own"])
def test_vcrpy_replays_our_cassettes(post, folder, tmp_path):
    cassette = cassettes.load(FOLDER, "openai-chat", "parallel-calls")
    library = tmp_path if folder == "bundled" else FOLDER
    recorder = vcr.VCR(record_mode="none", cassette_library_dir=str(library))
    recorder.register_persister(Persister())
    with recorder.use_cassette("openai-chat/parallel-calls.yaml") as played:
        found = post(f"https://api.openai.com{cassette.request.path}", cassette.request.body)
    assert found == cassette.body
    assert played.all_played


def test_requests_may_go_to_another_address(tmp_path):
    recorder = vcr.VCR(record_mode="none", cassette_library_dir=str(tmp_path))
    recorder.register_persister(Persister(base_url="http://gateway.example"))
    with recorder.use_cassette("openai-chat/parallel-calls"):
        assert with_httpx("http://gateway.example/v1/chat/completions", {}).startswith(b"data: ")


def test_cassettes_of_vcrpy_are_read_as_always(tmp_path):
    export, _ = FORMATS["vcr"]
    cassette = cassettes.load(FOLDER, "openai-chat", "parallel-calls")
    (tmp_path / "own.yaml").write_bytes(export(cassette, "https://api.openai.com"))
    recorder = vcr.VCR(record_mode="none", cassette_library_dir=str(tmp_path))
    recorder.register_persister(Persister())
    with recorder.use_cassette("own.yaml"):
        assert with_httpx("https://api.openai.com/v1/chat/completions", {}) == cassette.body
    assert FilesystemPersister is not Persister
