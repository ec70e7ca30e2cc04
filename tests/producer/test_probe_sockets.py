"""`conform probe` on a WebSocket passes a valid server, and each mistake in what it sends fails a check."""

from __future__ import annotations

import json
import re

import pytest

from streamconform.wire.websocket import (
    BINARY,
    CONTINUATION,
    PING,
    encode_close,
    encode_fragments,
    encode_frame,
)
from streamconform_capture.record import live_socket

from ..record.server import replying
from ..record.sockets import Silence
from .responses import END, MODEL, SocketMistake, answer, frame, serve_responses

API = "openai-responses"
ARGUMENTS = ("--api", API, "--model", MODEL)
KEY = "sk-the-key-of-the-probe-0123456789"


def test_a_valid_server_passes(probe, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serve_responses(key=KEY) as server:
        output = probe(server.url, *ARGUMENTS, "--strict")
    assert (output.code, output.failed, output.warned) == (0, {}, {}), output.out + output.err
    # The model refuses to think, so that question is skipped.
    assert re.search(r"^No failures: 18 passed, 1 skipped", output.out, re.MULTILINE), output.out
    asked = [json.loads(message) for message in server.messages if message != '{"model": "']
    assert {body.pop("type") for body in asked} == {"response.create"}
    assert not any("stream" in body for body in asked)
    assert set(server.closed) == {1000, None}  # None: a handshake with a wrong key


def test_fragments_pings_and_a_missing_output_are_legal(probe):
    def change(frames):
        first, *rest = frames
        payload = first[4:]
        return [*encode_fragments((payload[:9], payload[9:])), encode_frame(b"", PING), *rest]

    def leave_out(events):
        *before, last = events
        response = {name: value for name, value in last["response"].items() if name != "output"}
        return [*before, {**last, "response": response}]

    with serve_responses(SocketMistake(events=leave_out, frames=change)) as server:
        output = probe(server.url, *ARGUMENTS, "-k", "text-over", "--strict")
    assert (output.code, output.failed, output.warned) == (0, {}, {}), output.out + output.err


def without_status(error):
    return [frame({name: value for name, value in error.items() if name != "status"})]


def rename(events):
    return [{**event, "type": event["type"].removeprefix("response.")} for event in events]


def spoil_arguments(events):
    def spoil(event):
        if "arguments" in event.get("item", {}):
            return {**event, "item": {**event["item"], "arguments": "[]"}}
        parts = {"arguments": "[]", "delta": "[]" if event["sequence_number"] == 2 else ""}
        return {**event, **{name: value for name, value in parts.items() if name in event}}

    return [spoil(event) for event in events]


def close_for(code):
    return SocketMistake(frames=lambda frames: [*frames[:-1], encode_close(code), END])


QUESTION = "text-over-websocket"
MISTAKES = {
    "an event in a binary message": (
        SocketMistake(frames=lambda frames: [*frames[:-1], encode_frame(b"{}", BINARY), frames[-1]]),
        QUESTION,
        "grammar.text-messages",
    ),
    "all events in one message": (
        SocketMistake(frames=lambda frames: [encode_frame(b"\n".join(each[4:] for each in frames)), END]),
        QUESTION,
        "grammar.payload-json",
    ),
    "the frames of HTTP": (
        SocketMistake(frames=lambda frames: [encode_frame(b"data: " + each[4:]) for each in frames] + [END]),
        QUESTION,
        "grammar.payload-json",
    ),
    "a done marker": (
        SocketMistake(frames=lambda frames: [*frames, encode_frame(b"[DONE]")]),
        QUESTION,
        "grammar.no-done-marker",
    ),
    "masked frames": (
        SocketMistake(frames=lambda frames: [b"\x81\x82mask\x16\x1c", *frames]),
        QUESTION,
        "grammar.framing",
    ),
    "a message that goes on without having begun": (
        SocketMistake(frames=lambda frames: [encode_frame(b"{}", CONTINUATION), *frames]),
        QUESTION,
        "grammar.framing",
    ),
    "half a character": (
        SocketMistake(frames=lambda frames: [*frames[:1], encode_frame(b'{"type":"\xe2"}'), *frames[1:]]),
        QUESTION,
        "grammar.text-messages",
    ),
    "two starts": (
        SocketMistake(events=lambda events: [events[0], *events]),
        QUESTION,
        "grammar.one-created",
    ),
    "no item": (
        SocketMistake(events=lambda events: [events[0], *events[2:]]),
        QUESTION,
        "grammar.block-start-before-delta",
    ),
    "an event after the end": (
        SocketMistake(events=lambda events: [*events, events[3]]),
        QUESTION,
        "grammar.terminal-last",
    ),
    "the lane of nobody": (
        SocketMistake(events=lambda events: [{**event, "stream_id": "main"} for event in events]),
        QUESTION,
        "grammar.lane-constant",
    ),
    "a close frame after the last event": (
        SocketMistake(frames=lambda frames: [*frames, encode_close(1000), END]),
        QUESTION,
        "websocket.open",
    ),
    "the end of the connection after the last event": (
        SocketMistake(frames=lambda frames: [*frames, END]),
        QUESTION,
        "websocket.open",
    ),
    "a close frame before the last event": (
        close_for(1000),
        QUESTION,
        "websocket.whole",
    ),
    "the end of the connection before the last event": (
        SocketMistake(frames=lambda frames: [*frames[:-1], END]),
        QUESTION,
        "websocket.whole",
    ),
    "a code that must not be sent": (
        close_for(1006),
        QUESTION,
        "websocket.close-code",
    ),
    "half a code": (
        SocketMistake(frames=lambda frames: [*frames[:-1], encode_frame(b"\x03", 0x8), END]),
        QUESTION,
        "websocket.close-code",
    ),
    "no handshake": (
        SocketMistake(handshake=lambda _: (404, {"error": {"message": "no"}})),
        QUESTION,
        "websocket.handshake",
    ),
    "an error for a good request": (
        SocketMistake(
            events=lambda _: [{"type": "error", "status": 500, "error": {"message": "", "type": ""}}]
        ),
        QUESTION,
        "answer.complete",
    ),
    "an answer to a bad request": (
        SocketMistake(refusal=lambda _: [frame({"type": "response.completed", "response": {}})]),
        "no-messages-over-websocket",
        "websocket.refused",
    ),
    "a close frame in place of an error": (
        SocketMistake(refusal=lambda _: [encode_close(1008, "bad request"), END]),
        "bad-json-over-websocket",
        "websocket.refused",
    ),
    "an error without a message": (
        SocketMistake(refusal=lambda error: [frame({**error, "error": {"type": "x"}})]),
        "no-messages-over-websocket",
        "error.error.message",
    ),
    "an error of another form": (
        SocketMistake(refusal=lambda error: [frame({**error["error"], "type": "error"})]),
        "no-messages-over-websocket",
        "error.error",
    ),
    "an answer to a warm-up": (
        SocketMistake(events=lambda events: answer({"model": MODEL}, events[0]["response"]["id"])),
        "warm-up-over-websocket",
        "websocket.warm-up",
    ),
    "no state": (SocketMistake(forgets=True), "continuation-over-websocket", "answer.complete"),
    "one answer per connection": (
        SocketMistake(frames=lambda frames: [*frames, encode_close(1000), END]),
        "continuation-over-websocket",
        "websocket.continued",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_fails_a_check(mistake, probe):
    made, question, path = MISTAKES[mistake]
    with serve_responses(made) as server:
        output = probe(server.url, *ARGUMENTS, "-k", f"probe/{API}/{question}")
    assert output.code == 1, output.out + output.err
    assert path in output.failed[question], output.failed


@pytest.mark.parametrize(
    ("made", "question", "path"),
    [
        (SocketMistake(events=spoil_arguments), "tool-call-over-websocket", "answer.arguments"),
        (SocketMistake(refusal=without_status), "no-messages-over-websocket", "error.status"),
        (
            SocketMistake(refusal=lambda error: [frame({**error, "status": 500})]),
            "no-messages-over-websocket",
            "error.status",
        ),
    ],
)
def test_what_no_page_requires_is_only_a_warning(made, question, path, probe):
    with serve_responses(made) as server:
        output = probe(server.url, *ARGUMENTS, "-k", f"probe/{API}/{question}")
    assert (output.code, path in output.warned[question]) == (0, True), output.out


def test_an_entry_about_a_websocket_is_known_to_a_probe_over_http_and_the_other_way_round(tmp_path, probe):
    about = {"verdict": "fail", "reason": "the sum is wrong", "issue": "a/b#1"}
    names = ("text", QUESTION)
    entries = [{"match": f"probe/{API}/{name}:grammar.usage-total", **about} for name in names]
    document = {"known-failures": 1, "entries": entries}
    (tmp_path / "known.yaml").write_text(json.dumps(document), "utf-8")

    def add_up_wrongly(events):
        *before, last = events
        usage = {**last["response"]["usage"], "total_tokens": 1}
        return [*before, {**last, "response": {**last["response"], "usage": usage}}]

    with serve_responses(SocketMistake(events=add_up_wrongly)) as server:
        output = probe(server.url, *ARGUMENTS, "-k", QUESTION, "--known-failures", "known.yaml")
    assert output.code == 0, output.out


def test_another_api_has_no_websocket(probe):
    output = probe("ws://127.0.0.1:9", "--api", "openai-chat", "--model", MODEL)
    assert output.code == 2
    assert "openai-chat has no WebSocket, only openai-responses has" in output.err


def test_the_key_is_not_sent_unencrypted_to_another_machine(probe, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    output = probe("ws://probe.example", *ARGUMENTS)
    assert (output.code, "unencrypted (ws)" in output.err) == (2, True)


def test_the_key_is_sent_and_never_stored(tmp_path, probe, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    leak = SocketMistake(
        events=lambda events: [*events[:3], {**events[3], "delta": KEY, "no": 1}, *events[4:]]
    )
    with serve_responses(leak, key=KEY) as server:
        output = probe(server.url, *ARGUMENTS, "-k", QUESTION)
    assert output.code == 1
    assert f"Authorization: Bearer {KEY}".encode().lower() in server.heads[0].lower()
    assert KEY not in output.out + (tmp_path / ".conform" / "probe.jsonl").read_text("utf-8")


@pytest.mark.parametrize(
    ("made", "verdict", "path"),
    [
        (SocketMistake(pongs=False), "failed", "websocket.pong"),
        (SocketMistake(closes=False), "warned", "websocket.close"),
    ],
)
def test_a_ping_gets_a_pong_and_a_close_frame_another(made, verdict, path, probe, monkeypatch):
    monkeypatch.setattr(live_socket, "END_SECONDS", 0.5)
    with serve_responses(made) as server:
        output = probe(server.url, *ARGUMENTS, "-k", QUESTION)
    assert getattr(output, verdict) == {QUESTION: [path]}, output.out


def test_an_answer_without_an_end_is_a_hang(probe):
    made = SocketMistake(frames=lambda frames: [*frames[:-1], Silence()])
    with serve_responses(made) as server:
        output = probe(server.url, *ARGUMENTS, "-k", QUESTION, "--timeout", "0.5")
    assert (output.code, "did not end within 0.5 s" in output.out) == (1, True), output.out


@pytest.mark.parametrize("reply", [b"HTTP/1.1 101 Switching Protocols\r\n\r\n", b"SSH-2.0-x\r\n\r\n", b""])
def test_a_server_without_a_websocket_is_no_answer(reply, probe):
    with replying(lambda _: [reply]) as server:
        url = server.base_url.replace("http", "ws")
        output = probe(url, *ARGUMENTS, "-k", QUESTION)
    assert (output.code, output.failed) == (3, {QUESTION: ["http.answer"]}), output.out


def test_an_unreachable_server_exits_with_three(probe):
    assert probe("ws://127.0.0.1:9", *ARGUMENTS).code == 3
