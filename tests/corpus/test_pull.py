"""`--pull`: from a source distribution to recordings, with a real pip but no network."""

from __future__ import annotations

import gzip
import json
import os
import sys
from dataclasses import replace

import pytest

from streamconform.apis import APIS
from streamconform.errors import LostError, SourceError
from streamconform_capture import importers
from streamconform_capture.cli import pulling as verb
from streamconform_capture.compare.inputs import read
from streamconform_capture.corpus import cache
from streamconform_capture.corpus.download import PullFailed
from streamconform_capture.corpus.pull import NOT_ASKED, SAME_BYTES, pull
from streamconform_capture.corpus.sources import SOURCES

from ..cli.project import Project
from .sdists import BODY, KNOWN, ROOT, interaction, langchain, sdist, vcr

ERROR = b'{"type":"error","error":{"type":"not_found_error","message":"model: none"}}'
CHAT = "https://api.groq.com/openai/v1/chat/completions"
CHUNK = b'data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n'
DENIED = {"status": 404, "body": ERROR, "media": "application/json"}
FILES = {
    "tests/cassettes/test_a/one.yaml": vcr(interaction(), interaction(CHAT, CHUNK)),
    "tests/cassettes/test_a/same.yaml": vcr(interaction()),
    "tests/cassettes/test_b/errors.yaml": vcr(interaction(**DENIED), interaction(**DENIED, stream=False)),
    "tests/cassettes/test_b/whole.yaml": vcr(interaction(body=b"{}", media="application/json")),
    "tests/cassettes/broken.yaml": b"[",
    "tests/other.yaml": vcr(interaction()),
    "setup.py": b"raise SystemExit('the archive was run')",
}
NOTHING = "pip finds no source distribution"


@pytest.fixture
def root(offered):
    del offered
    return cache.locate_root(os.environ["CONFORM_CACHE"])


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def quietly(done, total):
    del done, total


WHOLE = (
    b'{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":"end_turn"}'
)
GENERATE = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-flash:generateContent"
CANDIDATE = b'{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}'


def test_answers_that_do_not_stream_are_imported_under_names_of_their_own(offered, root):
    whole = interaction(body=WHOLE, media="application/json", stream=False)
    google = interaction(GENERATE, CANDIDATE, media="application/json", stream=None)
    files = {"tests/cassettes/a.yaml": vcr(whole, interaction(), google)}
    found = pull(root, sdist(offered, files), quietly)
    assert (found.recordings, found.left) == ({"anthropic-messages": 2, "google-generate": 1}, {})
    read_back = {case.id: case.stream for case in read(str(found.folder), (), None).cases}
    assert read_back == {
        "anthropic-messages/a-at-once.json": False,
        "anthropic-messages/a.sse": True,
        "google-generate/a-at-once.json": False,
    }


def test_what_streams_is_imported_and_everything_else_is_counted(offered, root):
    source = sdist(offered, FILES)
    found = pull(root, source, quietly)
    assert found.recordings == {"anthropic-messages": 2, "openai-chat": 1}
    assert found.left == {SAME_BYTES: 1, NOT_ASKED: 1, "not a stream": 1, "not a vcrpy cassette": 1}
    folder = read(found.folder, (), None)
    assert [(case.id, case.cassette.status) for case in folder.cases] == [
        ("anthropic-messages/test-a-one.sse", 200),
        ("anthropic-messages/test-b-errors.json", 404),
        ("openai-chat/test-a-one.sse", 200),
    ]
    assert folder.unread == ()
    first = folder.cases[0].cassette
    assert (first.body, first.request.body["stream"]) == (BODY, True)
    assert first.provenance.source == (
        f"{KNOWN.distribution} {KNOWN.version}, tests/cassettes/test_a/one.yaml, interaction 1 of 2"
    )
    assert "sk-ant-secret" not in "".join(
        path.read_text("utf-8") for path in found.folder.rglob("*") if path.is_file()
    )
    assert cache.read_pulled(root, KNOWN) == found
    assert [each.name for each in root.iterdir()] == [KNOWN.key]
    assert list(verb._summarize_pull(source, found))[:4] == [
        f"{KNOWN.name} {KNOWN.version} (Apache-2.0): 3 recordings in {root / KNOWN.key}",
        "      2  anthropic-messages",
        "      1  openai-chat",
        "not imported: 4",
    ]


def test_an_exchange_that_is_lost_is_a_bug_and_nothing_is_kept(offered, root, monkeypatch):
    read_file = importers.import_file
    monkeypatch.setattr(importers, "import_file", lambda *a, **b: replace(read_file(*a, **b), skipped=()))
    with pytest.raises(LostError, match="7 exchanges read, but 3 imported, 3 not imported"):
        pull(root, sdist(offered, FILES), quietly)
    assert list(root.iterdir()) == []


def test_recordings_of_one_name_are_numbered_and_long_names_keep_their_end(offered, root):
    deep = "a-long-name-of-a-folder/" * 5
    bodies = [BODY + b": %d\n\n" % number for number in range(4)]
    files = {
        "tests/cassettes/one.yaml": vcr(*(interaction(body=each) for each in bodies[:2])),
        "tests/cassettes/one-2.yaml": vcr(interaction(body=bodies[2])),
        f"tests/cassettes/{deep}end.yaml": vcr(interaction(body=bodies[3])),
    }
    found = pull(root, sdist(offered, files), quietly)
    names = [case.cassette.name for case in read(found.folder, (), None).cases]
    assert set(names[1:]) == {"one", "one-2", "one-3"}
    assert names[0].endswith("-a-long-name-of-a-folder-end")
    assert len(names[0]) <= 80


def test_nothing_of_an_archive_is_read_or_run_that_has_another_digest(offered, root, tmp_path):
    marker = tmp_path / "ran"
    runs = f"open({str(marker)!r}, 'w')\n".encode()
    hostile = {
        "pyproject.toml": b'[build-system]\nrequires = []\nbuild-backend = "evil"\nbackend-path = ["."]\n',
        "evil.py": runs,
        "setup.py": runs,
    }
    sdist(offered, FILES | hostile)
    with pytest.raises(PullFailed) as raised:
        pull(root, KNOWN, quietly)
    words = str(raised.value)
    assert "it was not read" in words
    assert f"expected SHA-256 {KNOWN.sha256}" in words
    assert "got      SHA-256 " in words
    assert "pip cache purge" in words
    assert not marker.exists()
    assert list(root.iterdir()) == []


def test_a_version_that_pip_does_not_find_is_distinguished_from_a_distribution_that_it_does_not_find(
    offered, root
):
    source = sdist(offered, FILES)
    other = replace(source, version="9.9")
    with pytest.raises(PullFailed, match=rf"not version 9\.9 .*most recently {KNOWN.version}"):
        pull(root, other, quietly)
    (offered / f"{ROOT}.tar.gz").unlink()
    with pytest.raises(PullFailed, match=NOTHING):
        pull(root, source, quietly)


def test_an_index_that_cannot_be_reached_is_no_missing_distribution(root, monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")  # nothing listens there
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(PullFailed, match="pip cannot reach its index"):
        pull(root, KNOWN, quietly)


def test_what_pip_says_is_shown_where_there_is_no_better_message(offered, root, monkeypatch):
    monkeypatch.setenv("PIP_TIMEOUT", "soon")
    with pytest.raises(PullFailed, match=r"(?s)pip cannot fetch .*invalid.*'soon'"):
        pull(root, sdist(offered, FILES), quietly)


def test_a_python_without_pip_is_reported(offered, root, monkeypatch):
    monkeypatch.setitem(sys.modules, "pip", None)
    with pytest.raises(PullFailed, match="python -m ensurepip"):
        pull(root, sdist(offered, FILES), quietly)


def test_a_pull_that_is_interrupted_leaves_nothing(offered, root):
    source = sdist(offered, FILES)
    for at in (0, 3):

        def interrupt(done, total, at=at):
            del total
            if done == at:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            pull(root, source, interrupt)
        assert list(root.iterdir()) == []
        assert cache.read_pulled(root, source) is None
    assert pull(root, source, quietly).recordings


def test_a_hostile_archive_leaves_nothing(offered, root):
    source = sdist(offered, {"tests/cassettes/../../x.yaml": b""} | FILES)
    with pytest.raises((PullFailed, SourceError)):
        pull(root, source, quietly)
    assert list(root.iterdir()) == []


def test_an_archive_without_recordings_is_a_failure(offered, root):
    with pytest.raises(PullFailed, match="no recordings in"):
        pull(root, sdist(offered, {"tests/cassettes/broken.yaml": b"["}), quietly)
    assert list(root.iterdir()) == []


def test_a_pulled_source_is_compared_by_name(offered, root, project):
    missing = project.run("compare", "reference", "--corpus", KNOWN.name)
    assert missing.code == 2
    assert f"`{KNOWN.name}` was not pulled to `{root}`; add --pull" in missing.err
    pull(root, sdist(offered, FILES), quietly)
    compared = project.run("compare", "reference", "--corpus", KNOWN.name)
    assert compared.code == 0, compared.out + compared.err
    assert compared.last.startswith("3 recordings, 9 trials, 0 causes")


@pytest.mark.parametrize(
    "words",
    [("compare", "reference", "--corpus", KNOWN.name, "--pull"), ("run", "--recorded", "--pull")],
    ids=["compare", "run"],
)
def test_pull_fetches_what_is_missing_and_says_what_is_wrong(offered, project, words):
    sdist(offered, FILES)
    ran = project.run(*words)
    assert ran.code == 2
    # `run` begins with a source that this index does not offer.
    assert "is not the one that was reviewed" in ran.err or "pip finds no source distribution" in ran.err
    assert "Traceback" not in ran.err


def test_nothing_is_fetched_without_consent(offered, root, project):
    sdist(offered, FILES)
    assert project.run("run", "--recorded").code == 5
    assert not root.exists() or list(root.iterdir()) == []


def test_pull_needs_recordings_to_judge(project):
    ran = project.run("run", "--pull")
    assert (ran.code, "--pull fetches the recordings for --recorded; add it" in ran.err) == (2, True)


def test_a_folder_that_pull_did_not_write_is_reported_with_the_way_out(root):
    (root / KNOWN.key).mkdir(parents=True)
    with pytest.raises(SourceError, match=f"damaged; delete `{root / KNOWN.key}`, then use --pull"):
        cache.read_pulled(root, KNOWN)


def test_the_cache_is_where_the_user_says(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache.locate_root(None) == tmp_path / ".cache" / "streamconform" / "corpus"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.locate_root(None) == tmp_path / "xdg" / "streamconform" / "corpus"
    assert cache.locate_root(str(tmp_path / "own")) == tmp_path / "own" / "corpus"


def test_the_table_of_sources_is_sound():
    for name, source in SOURCES.items():
        assert source.name == name
        assert len(bytes.fromhex(source.sha256)) == 32
        assert set(source.apis) <= set(APIS)
        assert source.licence in ("MIT", "Apache-2.0")
        assert all("tests/" in each and each.endswith((".yaml", ".yaml.gz")) for each in source.select)


def test_an_archive_with_a_backend_of_its_own_is_refused_before_any_of_its_code_runs(offered, root, tmp_path):
    marker = tmp_path / "ran"
    runs = f"open({str(marker)!r}, 'w')\n".encode()
    hostile = {
        "pyproject.toml": b'[build-system]\nrequires = []\nbuild-backend = "evil"\nbackend-path = ["."]\n',
        "evil.py": runs,
        "setup.py": runs,
    }
    with pytest.raises(PullFailed, match=r"`backend-path`.*the archive was not used"):
        pull(root, sdist(offered, FILES | hostile), quietly)
    assert not marker.exists()
    assert list(root.iterdir()) == []


def test_a_cassette_of_langchain_is_read_without_what_was_removed(offered, root):
    source = replace(
        sdist(offered, {"tests/cassettes/one.yaml.gz": langchain(interaction(), interaction(CHAT, CHUNK))}),
        select=("tests/cassettes/*.yaml.gz",),
    )
    found = pull(root, source, quietly)
    assert found.recordings == {"anthropic-messages": 1, "openai-chat": 1}
    cassette = read(found.folder, (), None).cases[0].cassette
    assert cassette.body == BODY
    assert "**REDACTED**" not in str(cassette.headers)


def test_the_body_of_a_request_determines_the_api_where_its_address_was_removed(offered, root):
    bodies = {"chat": {"messages": []}, "responses": {"input": "x"}}
    files = {}
    for name, body in bodies.items():
        one = interaction("**REDACTED**", CHUNK)
        one["request"]["body"] = json.dumps({"model": "m", "stream": True, **body})
        files[f"tests/cassettes/{name}.yaml.gz"] = langchain(one)
    found = pull(root, replace(sdist(offered, files), select=("tests/cassettes/*.yaml.gz",)), quietly)
    cases = read(found.folder, (), None).cases
    assert {case.cassette.name: case.api for case in cases} == {
        "chat-yaml": "openai-chat",
        "responses-yaml": "openai-responses",
    }


NOT_LANGCHAIN = {
    "its gzip data is damaged": b"requests: []",
    "not a LangChain cassette": gzip.compress(b"requests: []"),
    "nested deeper than 64 levels": gzip.compress(b"- " * 100 + b"x"),
    "larger than 67108864 bytes when decompressed": gzip.compress(b" " * (64 * 1024 * 1024 + 1), 1),
}


def test_a_file_that_langchain_did_not_write_is_counted_with_a_reason(offered, root):
    files = {"tests/cassettes/one.yaml.gz": langchain(interaction())}
    files |= {f"tests/cassettes/{number}.yaml.gz": data for number, data in enumerate(NOT_LANGCHAIN.values())}
    found = pull(root, replace(sdist(offered, files), select=("tests/cassettes/*.yaml.gz",)), quietly)
    assert found.recordings == {"anthropic-messages": 1}
    assert sum(found.left.values()) == len(NOT_LANGCHAIN)
    for reason in NOT_LANGCHAIN:
        assert [count for why, count in found.left.items() if why.startswith(reason)] == [1], reason
