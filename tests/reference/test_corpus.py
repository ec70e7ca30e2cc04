"""Recorded streams: events match the outcome, a cut stream is never complete, HTTP errors are read.

`conform compare` (tests/corpus) checks that the outcome does not depend on the chunks.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from streamconform.apis import APIS
from streamconform.apis.payloads import read_payload
from streamconform.model.case import Case
from streamconform.wire.framings import split
from streamconform_dev.corpus.captures import check_each, corpus, streams
from streamconform_dev.fuzz.exchange import Answer, assert_event_rules, decode

pytestmark = pytest.mark.corpus

UNTYPED = {
    "cohere-chat": 2,
    "bedrock-invoke": 2,
    "bedrock-converse": 1,
    "openai-responses": 1,
    "openai-chat": 1,
}
"""HTTP errors, by API, whose document names no type: `{"message"}`, `{"detail"}`, `{"error": "..."}`."""


LONG = 10_000
"""Longer streams are not cut: they contain four fifths of all bytes, in frames like those of the others."""


def errors() -> list[Case]:
    return [case for case in corpus().cases if case.cassette.status >= 400]


def answer(case: Case, body: bytes) -> Answer:
    cassette = case.cassette
    return decode(body, api=case.api, status=cassette.status, headers=cassette.headers, pricing=None)


def payloads(case: Case, body: bytes) -> list[Any]:
    """Return the payloads of the frames in this part of the body, read with the harness."""
    framed = APIS[case.api].detect_framing(case.cassette.status, case.cassette.body)
    return [read_payload(frame.payload) for frame in split(framed, body)]


def start_of_terminal(case: Case) -> int:
    """Return the offset of the first terminal frame, read with the harness, or of the end otherwise."""
    body = case.cassette.body
    frames = split(APIS[case.api].detect_framing(case.cassette.status, body), body)
    ends = (frame.start for frame in frames if APIS[case.api].ending.is_terminal(read_payload(frame.payload)))
    return next(ends, len(body))


def test_every_line_of_the_manifest_is_read_or_is_of_an_api_that_is_not_known() -> None:
    assert {case.api for case in corpus().cases} == {*APIS}
    assert len(corpus().cases) + len(corpus().unread) >= 2398
    for unread in corpus().unread:
        assert unread.api not in APIS
        assert unread.reason == f"the API {unread.api} is not known to this version"


@pytest.mark.parametrize("api", APIS)
def test_a_recorded_stream_is_never_complete_before_its_terminal_frame(api: str) -> None:
    check_each([case for case in streams() if case.api == api], assert_never_complete_too_early)


def assert_never_complete_too_early(case: Case) -> None:
    assert_event_rules(answer(case, case.cassette.body))
    if len(case.cassette.body) > LONG:
        return
    end = start_of_terminal(case)
    for fifth in range(5):
        part = case.cassette.body[: end * fifth // 5 + 1]
        cut = answer(case, part)
        assert_event_rules(cut)
        assert cut.outcome["status"] != "complete"
        own = [block for block in cut.content if block.get("executor") != "provider"]
        if complete := sum(bool(block.get("complete")) for block in own):
            assert complete <= APIS[case.api].ending.count_ended_calls(payloads(case, part))


def test_an_http_error_has_type_message_and_status() -> None:
    check_each(errors(), assert_has_type_message_and_status)


def assert_has_type_message_and_status(case: Case) -> None:
    found = answer(case, case.cassette.body).outcome
    error, message = found["error"], case.cassette.body.decode()
    assert (found["status"], found["stop"]["reason"], found["content"]) == ("error", "error", [])
    assert error["status"] == case.cassette.status
    assert error["message"]
    assert json.dumps(error["message"], ensure_ascii=False)[1:-1] in message
    assert error["type"] is None or json.dumps(error["type"]) in message


def test_an_http_error_lacks_a_type_only_if_its_document_has_none() -> None:
    without = [case.api for case in errors() if not answer(case, case.cassette.body).outcome["error"]["type"]]
    assert Counter(without) == UNTYPED
