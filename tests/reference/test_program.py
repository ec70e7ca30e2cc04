"""`python -m streamconform_reference` as a session: pushed runs, and messages outside of one."""

from __future__ import annotations

import base64

from streamconform_reference.__main__ import Session

TEXT = b'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n'
BODY = TEXT + b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n'


def run_message(id_: str, *want: str, **more):
    given = {"mode": "push", "status": 200, "headers": {}}
    return {"op": "run", "id": id_, "api": "openai-chat", "input": given, "want": ["outcome", *want], **more}


def chunk(id_: str, data: bytes):
    return {"op": "chunk", "id": id_, "data": base64.b64encode(data).decode()}


def answers(session: Session, message) -> list[dict]:
    return list(session.reply_to(message))


def test_events_come_out_as_their_chunks_go_in():
    session = Session()
    assert answers(session, run_message("1", "events")) == []
    first = answers(session, chunk("1", BODY[:50]))
    assert [each["event"]["type"] for each in first] == ["text_start", "text_delta"]
    assert {(each["op"], each["id"]) for each in first} == {("event", "1")}
    rest = answers(session, chunk("1", BODY[50:])) + answers(session, {"op": "eof", "id": "1"})
    assert rest[-2]["event"]["type"] == "done"
    assert rest[-1]["outcome"]["status"] == "complete"


def test_unwanted_events_are_not_written():
    session = Session()
    assert answers(session, run_message("1")) + answers(session, chunk("1", BODY)) == []
    (result,) = answers(session, {"op": "eof", "id": "1"})
    assert (result["op"], result["outcome"]["content"][0]["text"]) == ("result", "Hi")


def test_pushed_runs_do_not_mix():
    session = Session()
    for id_ in "ab":
        answers(session, run_message(id_))
    answers(session, chunk("b", TEXT))
    answers(session, chunk("a", BODY))
    (cut,), (whole,) = (answers(session, {"op": "eof", "id": id_}) for id_ in "ba")
    assert (cut["outcome"]["status"], whole["outcome"]["status"]) == ("incomplete", "complete")


def test_an_internal_error_ends_the_run_and_later_messages_are_ignored():
    session = Session()
    answers(session, run_message("1"))
    (result,) = answers(session, {"op": "chunk", "id": "1", "data": 5})
    assert "errored" in result
    assert answers(session, chunk("1", BODY)) + answers(session, {"op": "eof", "id": "1"}) == []


def test_unsupported_input_modes_and_unknown_apis_are_skipped():
    session = Session()
    over_http = {"mode": "http", "base_url": "http://127.0.0.1:1/x/1", "api_key": "k"}
    (one,) = answers(session, run_message("1") | {"input": over_http})
    (other,) = answers(session, run_message("2") | {"api": "telegraph"})
    assert "mode http" in one["skipped"]["reason"]
    assert "telegraph" in other["skipped"]["reason"]


def test_a_pushed_document_is_read_when_it_is_whole():
    session = Session()
    document = b'{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}'
    sent = [run_message("1", stream=False), chunk("1", document[:20]), chunk("1", document[20:])]
    assert [answers(session, message) for message in sent] == [[], [], []]
    (result,) = answers(session, {"op": "eof", "id": "1"})
    assert (result["outcome"]["status"], result["outcome"]["content"][0]["text"]) == ("complete", "Hi")
