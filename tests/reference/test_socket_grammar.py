"""The grammar of Responses over a WebSocket: a legal answer violates no rule, and an edit violates each."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from streamconform.apis import APIS
from streamconform.model.trial import WEBSOCKET
from streamconform.suite.expand import make_trial
from streamconform.wire.websocket import BINARY, encode_close, encode_frame
from streamconform_reference.apis.grammars import GRAMMARS, SOCKET_GRAMMARS
from streamconform_reference.grammars.grammar import Deviation

from .. import bundled_suite

API = "openai-responses"
GRAMMAR = SOCKET_GRAMMARS[API]
Json = dict[str, Any]

NOT_ONE_WHOLE_RESPONSE = {
    "deltas-without-setup": "OpenAI's client accepts it, but no page says that a server may do this",
    "lanes-interleaved": "the events of two responses",
    "error-of-another-lane": "the same",
    "steered-and-successor": "two responses, one after the other",
    "completed-and-successor": "the same",
    "closed-1000-too-early": "cut",
    "closed-1001-too-early": "cut",
    "closed-1008-too-early": "cut",
    "closed-1011-too-early": "cut",
    "cut-in-a-call": "cut",
}


def breaks_a_rule_that_must_hold(case) -> bool:
    trial = make_trial(case, WEBSOCKET, 0)
    found = GRAMMAR.of_body(trial.chunks, case.cassette.request.body)
    return any(each.level == "must" for each in found)


def test_a_response_over_a_websocket_breaks_no_rule_that_must_hold():
    sockets = [
        case for case in bundled_suite.streams() if case.api == API and case.cassette.transport == "websocket"
    ]
    broken = {case.id.split("/")[2] for case in sockets if breaks_a_rule_that_must_hold(case)}
    assert broken == NOT_ONE_WHOLE_RESPONSE.keys()


def test_a_stream_over_http_is_as_legal_in_messages():
    cases = [
        case
        for case in bundled_suite.streams()
        if case.api == API and case.cassette.transport == "http" and case.id.split("/")[1] == "text"
    ]
    assert len(cases) > 3
    for case in cases:
        body, request = case.cassette.body, case.cassette.request.body
        over_http = any(each.level == "must" for each in GRAMMARS[API].of_body([body], request))
        assert breaks_a_rule_that_must_hold(case) == over_http, case.id


def events(model: str = "m") -> list[Json]:
    """The events of a short answer."""
    return [*map(dict, APIS[API].canned_replies[0].payloads(model))]


def find(messages: list[bytes], **request: Any) -> list[Deviation]:
    return GRAMMAR.of_body(messages, request)


def frames(payloads: list[Json]) -> list[bytes]:
    return [encode_frame(json.dumps(payload).encode()) for payload in payloads]


ERROR = {
    "type": "error",
    "status": 400,
    "error": {"type": "invalid_request_error", "code": "x", "message": "no such model"},
}


@pytest.mark.parametrize("payloads", [events(), [ERROR], [*events()[:3], ERROR]])
def test_an_answer_and_an_error_are_legal(payloads):
    assert find(frames(payloads)) == []


def without(path: str) -> Callable[[list[Json]], list[Json]]:
    """Remove a member of the last event."""

    def edit(payloads: list[Json]) -> list[Json]:
        *before, last = json.loads(json.dumps(payloads))
        holder, parents = last, path.split(".")
        for name in parents[:-1]:
            holder = holder[name]
        del holder[parents[-1]]
        return [*before, last]

    return edit


def in_lane(name: str) -> Callable[[list[Json]], list[Json]]:
    return lambda payloads: [{**payload, "stream_id": name} for payload in payloads]


BROKEN: dict[str, tuple[list[Json], Callable[[list[Json]], list[Json]]]] = {
    "lane-constant": (events(), in_lane("a")),
    "one-created": (events(), lambda payloads: [payloads[0], *payloads]),
    "start-first": (events(), lambda payloads: payloads[1:]),
    "terminal-last": (events(), lambda payloads: [*payloads, payloads[4]]),
    "one-terminal": (events(), lambda payloads: payloads[:-1]),
    "sequence-contiguous": (events(), lambda payloads: [*payloads[:4], *payloads[5:]]),
    "usage-present": (events(), without("response.usage")),
    "required-field.error.error": ([ERROR], without("error")),
    "required-field.error.error.message": ([ERROR], without("error.message")),
    "required-field.error.error.type": ([ERROR], without("error.type")),
    "required-field.error.status": ([ERROR], without("status")),
}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_rule_is_broken_by_an_edit(rule):
    payloads, edit = BROKEN[rule]
    found = {each.rule: each for each in find(frames(edit(payloads)))}
    assert rule in found
    assert found[rule].source.startswith("https://")


def test_the_events_of_a_lane_have_its_name_and_an_error_of_the_connection_has_none():
    assert find(frames(in_lane("a")(events())), stream_id="a") == []
    assert {each.rule for each in find(frames(events()), stream_id="a")} == {"lane-constant"}
    assert find(frames([*in_lane("a")(events()[:3]), ERROR]), stream_id="a") == []


def test_the_last_event_may_leave_the_output_out_but_not_change_it():
    assert find(frames(without("response.output")(events()))) == []
    *before, last = events()
    changed = {**last, "response": {**last["response"], "output": []}}
    assert [each.rule for each in find(frames([*before, changed]))] == ["output-complete"]


TEXT = frames(events())
FRAMES: dict[str, tuple[list[bytes], str]] = {
    "an event in a binary message": ([*TEXT[:-1], encode_frame(b"{}", BINARY), TEXT[-1]], "text-messages"),
    "two events in a message": (
        [encode_frame(b"\n".join(json.dumps(each).encode() for each in events()))],
        "payload-json",
    ),
    "an event as over HTTP": ([encode_frame(b"data: " + json.dumps(events()[0]).encode())], "payload-json"),
    "a list of events": ([encode_frame(json.dumps(events()).encode())], "payload-object"),
    "the mark of the end": ([*TEXT, encode_frame(b"[DONE]")], "no-done-marker"),
    "a mask": ([b"\x81\x82maskxx", *TEXT], "framing"),
    "compression that was not agreed on": ([b"\xc1\x02xx", *TEXT], "framing"),
    "text without frames": ([json.dumps(events()[0]).encode()], "framing"),
    "a message in another one": ([b"\x01\x01{", *TEXT], "framing"),
    "half a character": ([encode_frame(b'{"type":"\xe2"}'), *TEXT], "text-messages"),
    "a close frame before the end": ([*TEXT[:-1], encode_close(1000), TEXT[-1]], "one-terminal"),
}


@pytest.mark.parametrize("name", FRAMES)
def test_wrong_frames_break_a_rule(name):
    messages, rule = FRAMES[name]
    assert rule in {each.rule for each in find(messages)}


def test_every_rule_that_only_a_websocket_has_is_broken_by_some_edit():
    own = {*GRAMMAR.rules} - {*GRAMMARS[API].rules}
    assert own <= {*BROKEN, *(rule for _, rule in FRAMES.values())}
