"""A recording's provenance names the server, as far as the server says who it is."""

from __future__ import annotations

import json

import pytest

from streamconform_capture.record import server_name
from streamconform_capture.record.server_name import UNNAMED, name_server

from .anthropic import answer
from .server import Wait, document, replying, serving, stream
from .test_listen import listening

UNNAMED_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"


@pytest.fixture(autouse=True)
def _ask_again():
    server_name._ask_for_models.cache_clear()


def name_listing(models, header="uvicorn"):
    with serving(*document(b"200 OK", json.dumps(models).encode())) as server:
        name = name_server(server.base_url, header)
    assert server.requests[0].startswith(b"GET /v1/models ")
    assert b"authorization" not in server.requests[0].lower()
    return name


def test_a_header_that_names_the_server_is_enough():
    with serving() as server:
        assert name_server(server.base_url, "llama.cpp") == "llama.cpp"
        assert server.requests == []


def test_a_server_on_this_machine_is_asked_who_owns_its_models():
    assert name_listing({"data": [{"id": "a/b", "owned_by": "vllm"}]}) == "vllm"


@pytest.mark.parametrize("owner", ["library", None, 7, "x" * 200, "jane@corp.io"])
def test_a_model_without_such_an_owner_names_the_server(owner):
    models = {"data": [{"id": "/models/smollm2:135m", "owned_by": owner}]}
    assert name_listing(models) == "server of smollm2:135m"


@pytest.mark.parametrize("models", [{}, [], {"data": []}, {"data": [7]}, {"data": [{"id": "\n"}]}])
def test_a_list_that_says_nothing_leaves_the_name_of_the_http_library(models):
    assert name_listing(models, "uvicorn") == "uvicorn"
    server_name._ask_for_models.cache_clear()
    assert name_listing(models, "") == UNNAMED


@pytest.mark.parametrize(
    "reply",
    [
        (*document(b"404 Not Found", b'{"data": [{"owned_by": "vllm"}]}'),),
        (b"HTTP/1.1 200 OK\r\n\r\n{", b" " * 2_000_000),
        (b"not HTTP\r\n\r\n",),
        (Wait(1),),
    ],
    ids=["error", "large", "not-http", "silent"],
)
def test_a_server_that_does_not_list_its_models_has_no_name(reply):
    with serving(*reply) as server:
        assert name_server(server.base_url, "") == UNNAMED


@pytest.mark.parametrize(
    "header", ["", "nginx/1.27", "a\x1b[2J", "jane@corp.io", "k" + "Qz8Kw2Lm5Xv9Rt3Yp7Nc4Hb6"]
)
def test_a_server_on_another_machine_is_asked_nothing(monkeypatch, header):
    monkeypatch.setattr(server_name, "_fetch", lambda _: pytest.fail("it was asked"))
    expected = header if header.startswith("nginx") else UNNAMED
    assert name_server("https://llm.corp.internal/v1", header) == expected
    assert name_server("https://api.openai.com", header) == "api.openai.com"


def test_a_recorded_program_is_answered_by_a_named_server(tmp_path):
    unnamed = (UNNAMED_HEAD + b"\r\n", *stream(answer("Hi."))[1:])
    models = document(b"200 OK", b'{"data": [{"owned_by": "vllm"}]}')
    with (
        replying(lambda _: unnamed, lambda _: models) as server,
        listening(tmp_path, server.base_url) as proxy,
    ):
        proxy.post()
        assert proxy.stop()[0] == 0
    assert proxy.load().provenance.server == "vllm"


def test_a_recording_has_the_name_from_the_header(recorder):
    with serving(*stream(answer("Hi."))) as server:
        assert recorder.run(server.base_url).code == 0
    assert "server: scripted 1.0" in recorder.text()
