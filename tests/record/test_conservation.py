"""A byte or an answer that `conform record` receives and does not save is a bug, and is named."""

from __future__ import annotations

import json
import sys

import pytest

from streamconform.cli import _run_command
from streamconform.run.exits import Exit
from streamconform_capture.cli.record import scenarios
from streamconform_capture.record import save

from .anthropic import answer
from .recorder import REQUEST
from .server import HEAD, chunk, serving, stream
from .test_scenarios import answering

BODY = answer("Hi, ", "you.")
SCENARIOS = ("record", "scenarios", "--endpoint", "llama-cpp", "--api", "anthropic-messages")


@pytest.fixture
def conform(monkeypatch, tmp_path):
    """A function that runs a command in this process, whose modules a test can break."""
    (tmp_path / "request.json").write_text(json.dumps(REQUEST))

    def run(*words):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["conform", *words])
        return _run_command()

    return run


def record(conform, server):
    words = ("--api", "anthropic-messages", "--base-url", server.base_url, "--name", "first")
    return conform("record", *words, "--request", "request.json", "--model", "m")


def lose_a_byte(monkeypatch):
    write = save.save_cassette

    def write_less(folder, scanned):
        path = write(folder, scanned)
        body = path.with_suffix(f".{scanned.cassette.suffix}")
        body.write_bytes(body.read_bytes()[:-1])
        return path

    monkeypatch.setattr(save, "save_cassette", write_less)


def test_a_recording_that_loses_a_byte_is_a_bug(conform, monkeypatch, capsys):
    lose_a_byte(monkeypatch)
    with serving(*stream(BODY)) as server:
        assert record(conform, server) == Exit.BUG
    assert f"error: {len(BODY):,} bytes received, but {len(BODY) - 1:,} saved" in capsys.readouterr().err


def test_an_answer_that_the_server_cut_is_whole_for_the_recorder_and_the_note_says_where_it_ends(
    conform, tmp_path
):
    with serving(HEAD + b"\r\n", chunk(BODY[:300])) as server:
        assert record(conform, server) == Exit.EXPECTED
    text = (tmp_path / "cassettes/anthropic-messages/first.yaml").read_text()
    assert "The recording ends after 300 bytes: closed." in text


@pytest.mark.parametrize("words", [(), ("--refresh",)])
def test_answers_that_are_kept_or_refused_add_up(conform, words):
    with answering(refused=("get_weather",)) as server:
        code = conform(*SCENARIOS, "text", "tool-call", "--base-url", server.url, *words)
    assert code == Exit.UNEXPECTED


def test_scenarios_that_lose_a_byte_are_a_bug(conform, monkeypatch, capsys):
    lose_a_byte(monkeypatch)
    with answering() as server:
        assert conform(*SCENARIOS, "text", "--base-url", server.url) == Exit.BUG
    assert "bytes received, but" in capsys.readouterr().err


class Forgetful(tuple):  # noqa: SLOT001 - a test needs no slots
    """Has one request more than it yields."""

    def __iter__(self):
        return iter(list(super().__iter__())[1:])


def test_scenarios_that_lose_a_request_are_a_bug(conform, monkeypatch, capsys):
    select = scenarios.select_requests
    monkeypatch.setattr(scenarios, "select_requests", lambda *words: Forgetful(select(*words)))
    with answering() as server:
        assert conform(*SCENARIOS, "text", "tool-call", "--base-url", server.url) == Exit.BUG
    assert "2 requests planned, but 1 recorded, 0 not recorded, 0 not sent" in capsys.readouterr().err
