"""Wherever a key is planted, `conform record` leaves no trace of it."""

from __future__ import annotations

import base64
import json
import urllib.parse

import pytest

from .anthropic import answer
from .server import document, replying, stream

KEY = "Zk7-Qx/9mP2+wL5.vT8_rB3nH6yDsKe"
"""A key without a known prefix, which is recognised only because it was given as a key."""
HEADER_KEY = "h3aDer-Gw8kPq2Lz9TnVx"
ENVIRONMENT = {"ANTHROPIC_API_KEY": KEY}
WORDS = ("--header", f"x-gateway-token: Token {HEADER_KEY}")


def spoken(key):
    """Yield the forms in which a server may repeat a key, from a list that is independent of the recorder."""
    yield from (key, key.lower(), key.upper(), key.swapcase())
    yield from (urllib.parse.quote(key, safe=""), urllib.parse.quote(key, safe="").lower())
    yield from (key.replace("/", "\\/"), key.encode().hex(), key.encode().hex().upper())
    yield "".join(f"\\u{ord(each):04x}" if not each.isalnum() else each for each in key)
    for before in ("", "x", "xx"):
        yield from _in_base64(f"{before}{key}")


def sought(key):
    """Yield the texts to search for: those forms, the middle of the base64, and the reversed key."""
    yield from (form for form in spoken(key) if form not in {*_in_base64(key)})
    yield key[::-1]
    for before in ("", "x", "xx"):
        yield from (form[4:-4] for form in _in_base64(f"{before}{key}"))


def _in_base64(text):
    return base64.b64encode(text.encode()).decode(), base64.urlsafe_b64encode(text.encode()).decode()


def found(recorder, ran):
    """Return where any form of a key occurs in files, file names and output."""
    places = recorder.written() | {"stdout": ran.out.encode(), "stderr": ran.err.encode()}
    places |= {f"name of {name}": name.encode() for name in places}
    return [
        (place, form)
        for place, data in places.items()
        for key in (KEY, HEADER_KEY)
        for form in sought(key)
        if form.encode() in data
    ]


def echo(request):
    """Return an answer that repeats the request, its head as JSON text, and the keys in every form."""
    head, _, body = request.partition(b"\r\n\r\n")
    texts = [head.decode(), body.decode(), *spoken(KEY), *spoken(HEADER_KEY)]
    headers = f"Request-Id: {KEY}\r\nX-Echo: {KEY}\r\nX-Should-Retry: {HEADER_KEY}\r\n".encode()
    return stream(answer(*texts), headers=headers)


def test_this_test_would_find_a_key(recorder):
    with replying(lambda _: stream(answer(f"see {KEY.upper()}"))) as server:
        ran = recorder.run(server.base_url)
    assert ran.code == 0, ran.err
    assert {place for place, _ in found(recorder, ran)} == {
        "cassettes/anthropic-messages/first.sse",
        "specs/anthropic-messages/recorded.yaml",
    }


def test_a_server_that_repeats_everything(recorder):
    body = {"max_tokens": 9, "messages": [{"role": "user", "content": f"{KEY} {HEADER_KEY} {KEY.upper()}"}]}
    twin = json.dumps(
        {"id": "msg_1", "content": [{"type": "text", "text": f"{KEY}, {KEY.upper()}"}]}
    ).encode()
    with replying(echo, lambda _: document(b"200 OK", twin)) as server:
        ran = recorder.run(server.base_url, *WORDS, "--twin", request=body, environment=ENVIRONMENT)
        assert all(KEY.encode() in request for request in server.requests)
        assert all(HEADER_KEY.encode() in request for request in server.requests)
    assert ran.code == 0, ran.err
    assert set(recorder.written()) == {
        "cassettes/anthropic-messages/first.sse",
        "cassettes/anthropic-messages/first.twin.json",
        "cassettes/anthropic-messages/first.yaml",
        "specs/anthropic-messages/recorded.yaml",
    }
    assert found(recorder, ran) == []


def test_a_key_in_the_path_of_the_base_url(recorder):
    with replying(echo) as server:
        ran = recorder.run(f"{server.base_url}/{KEY}/", *WORDS, environment=ENVIRONMENT)
        assert f"/{KEY}/v1/messages".encode() in server.requests[0]
    assert ran.code == 0, ran.err
    assert found(recorder, ran) == []


@pytest.mark.parametrize(
    "place", ["http://u:{}@127.0.0.1:9", "http://127.0.0.1:9/?k={}", "http://127.0.0.1:9/{}"]
)
def test_a_key_in_a_base_url_that_is_refused_or_does_not_answer(recorder, place):
    ran = recorder.run(place.format(KEY), environment=ENVIRONMENT)
    assert ran.code == 2
    assert found(recorder, ran) == []
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("words", [(), ("--allow-error",)], ids=["refused", "kept"])
def test_an_error_that_repeats_the_key(recorder, words):
    body = json.dumps({"type": "error", "error": {"type": "authentication_error", "message": f"no: {KEY}"}})
    with replying(lambda _: document(b"401 Unauthorized", body.encode())) as server:
        ran = recorder.run(server.base_url, *words, environment=ENVIRONMENT)
    assert ran.code == (0 if words else 2), ran.err
    assert bool(recorder.written()) == bool(words)
    assert found(recorder, ran) == []


@pytest.mark.parametrize("size", [1, 3, 11])
def test_a_model_that_spells_the_key_out_over_several_frames(recorder, size):
    """The bytes cannot be replaced there, so nothing is stored."""
    pieces = [KEY[at : at + size] for at in range(0, len(KEY), size)]
    with replying(lambda _: stream(answer("It is ", *pieces, "."))) as server:
        ran = recorder.run(server.base_url, environment=ENVIRONMENT)
    assert ran.code == 2
    assert "the decoded content contains the key" in ran.err
    assert recorder.written() == {}
    assert found(recorder, ran) == []


@pytest.mark.parametrize("option", ["--note", "--server"])
def test_a_key_in_what_the_user_writes_about_the_recording(recorder, option):
    with replying(lambda _: stream(answer("Hi."))) as server:
        ran = recorder.run(server.base_url, option, f"with {KEY}", environment=ENVIRONMENT)
    assert ran.code == 2
    assert recorder.written() == {}
    assert found(recorder, ran) == []


@pytest.mark.parametrize("header", [f"x-api-key: {KEY}", f"Authorization: Bearer {KEY}", KEY, f"{KEY}: v"])
def test_a_key_on_the_command_line_is_refused_and_not_repeated(recorder, header):
    ran = recorder.run("http://127.0.0.1:9", "--header", header)
    assert ran.code == 2
    assert "--header number 1" in ran.err or "--key-env" in ran.err
    assert found(recorder, ran) == []


def test_a_key_as_the_value_of_another_variable(recorder):
    with replying(echo) as server:
        ran = recorder.run(server.base_url, "--key-env", "MY_KEY", *WORDS, environment={"MY_KEY": f"{KEY}\n"})
        assert f"x-api-key: {KEY}".encode() in server.requests[0]
    assert ran.code == 0, ran.err
    assert found(recorder, ran) == []


def test_a_broken_request_that_holds_a_key(recorder):
    ran = recorder.run("http://127.0.0.1:9", request=f'{{"messages": "{KEY}', environment=ENVIRONMENT)
    assert ran.code == 2
    assert "request.json`, line 1" in ran.err
    assert found(recorder, ran) == []
