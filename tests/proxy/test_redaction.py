"""No client sees the proxy's own key, however an upstream repeats it."""

from __future__ import annotations

import json

import pytest

from streamconform_proxy import Route
from streamconform_proxy.redaction import MARK, EventRedactor, redact
from streamconform_reference.events import Done, ProseDelta, ProseStart, TextEnd
from streamconform_reference.outcome import Stop

from .started import REQUEST, proxied, run
from .upstreams import SSE, chunk, saying

KEY = "sk-proj-0123456789abcdef"
ROUTE = Route(client="anthropic-messages", upstream="openai-chat", key=KEY)
BODIES = {"stream": REQUEST, "at-once": {**REQUEST, "stream": False}}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("form", ["plain", "escaped"])
def test_an_error_that_names_the_key(body, form):
    document = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}."}})
    if form == "escaped":
        document = document.replace("sk-", "\\u0073\\u006b-")

    async def play(received, wire):
        del received
        await wire.head(401, "application/json", retry_after=KEY, x_request_id=KEY)
        await wire.send(document.encode())
        await wire.end()

    async def test():
        async with proxied(play, ROUTE) as setup:
            response = await setup.post(body)
            assert response.status == 401
            assert response.document["error"]["message"] == f"Incorrect API key provided: {MARK}."
            assert KEY not in str(response.headers)
            await setup.logged.wait()
            assert KEY not in str(setup.log)

    run(test())


def test_an_answer_that_contains_the_key_in_parts():
    async def play(received, wire):
        del received
        await wire.head(kind=SSE)
        call = {"index": 0, "id": KEY, "type": "function", "function": {"name": "f", "arguments": ""}}
        arguments = {"index": 0, "function": {"arguments": json.dumps({"key": KEY})}}
        for data in (
            chunk({"role": "assistant", "content": "It is sk-"}),
            *(chunk({"content": part}) for part in KEY[3:]),
            chunk({"content": ", and s"}),
            chunk({"tool_calls": [call]}),
            chunk({"tool_calls": [arguments]}),
            chunk({}, "tool_calls"),
            b"data: [DONE]\n\n",
        ):
            await wire.send(data)
        await wire.end()

    async def test():
        async with proxied(play, ROUTE) as setup:
            response = await setup.post()
            assert response.text == f"It is {MARK}, and s"
            assert KEY not in response.body.decode()

    run(test())


def test_an_error_event_that_names_the_key():
    async def play(received, wire):
        del received
        await wire.head(kind=SSE)
        await wire.send(chunk({"role": "assistant", "content": "Hi"}))
        await wire.send(b"data: " + json.dumps({"error": {"message": f"bad {KEY}"}}).encode() + b"\n\n")
        await wire.end()

    async def test():
        async with proxied(play, ROUTE) as setup:
            response = await setup.post()
            assert response.types[-1] == "error"
            assert response.events[-1]["error"]["message"] == f"bad {MARK}"

    run(test())


def test_a_document_that_contains_the_key():
    async def play(received, wire):
        del received
        message = {"role": "assistant", "content": f"It is {KEY}"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        await wire.document(200, {"id": "1", "model": "m", "choices": [choice]})

    async def test():
        async with proxied(play, ROUTE) as setup:
            response = await setup.post(BODIES["at-once"])
            assert response.document["content"] == [{"type": "text", "text": f"It is {MARK}"}]

    run(test())


def test_the_clients_own_key_and_placeholders_are_only_text():
    async def test():
        async with proxied(saying("my-own-key is the key, none")) as setup:
            response = await setup.post(x_api_key="my-own-key")
            assert response.text == "my-own-key is the key, none"

    run(test())
    assert redact("none", None) == "none"


def test_held_text_is_sent_before_its_block_ends():
    redactor = EventRedactor("secret-key")
    start, end = ProseStart(0, "text"), TextEnd(0, "text", "a secret")
    events = [
        start,
        ProseDelta(0, "text", "a sec"),
        ProseDelta(0, "text", "ret"),
        end,
        Done(Stop("stop", None)),
    ]
    sent = redactor.redact_events(events)
    deltas = [event.delta for event in sent if isinstance(event, ProseDelta)]
    assert "".join(deltas) == "a secret"
    assert sent[-2:] == [end, events[-1]]
