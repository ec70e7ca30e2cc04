"""`conform smoke`: what is wrong with an adapter is told with what to do, and nothing else is."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass

import pytest
from streamconform.adapters.connect import Connection
from streamconform.apis import APIS
from streamconform.model.case import Literally
from streamconform.tools.smoke.checks import CHECKS, examine
from streamconform.tools.smoke.conversation import converse, steps
from streamconform.tools.smoke.schema_messages import closest, misfits
from streamconform.tools.smoke.streams import streams

from .. import bundled_suite
from ..docs import smoke
from ..docs.blocks import describe_outdated

PROGRAM = """\
import copy, json, os, sys, time
from streamconform_reference.__main__ import Session, build_hello
from streamconform_reference.json_text import codec

def write(value):
    sys.stdout.buffer.write(codec.dumps(value) + b"\\n")
    sys.stdout.buffer.flush()

def answer(message): return next(Session().reply_to(message), None)
def greeting(): return build_hello() | {{"apis": ["anthropic-messages"]}}
def reply(message): return answer(message)
def outcome(given): return given
def said(message):
    value = reply(message)
    if value and value.get("outcome"): value["outcome"] = outcome(copy.deepcopy(value["outcome"]))
    if value: write(value)
def end(): pass

{code}

for line in sys.stdin:
    message = json.loads(line)
    if message["op"] == "hello": write(greeting())
    elif message["op"] == "stop": break
    else: said(message)
end()
"""
"""The reference as a program, with a place for whatever is to be wrong."""


def examined(folder, code, seconds=20.0):
    path = folder / "program.py"
    path.write_text(PROGRAM.format(code=code), "utf-8")
    seen = converse(Connection("cmd:program", (sys.executable, str(path))), seconds)
    return {finding.check: finding for finding in examine(seen)}


@dataclass(frozen=True, slots=True)
class Wrong:
    id: str
    code: str
    check: str
    says: str
    seconds: float = 20.0
    others: tuple[str, ...] = ()
    """Checks that find something too."""


def outcome(line):
    return f"def outcome(given):\n    {line}\n    return given"


def greets(more):
    return f"def greeting(): return build_hello() | {{'apis': ['anthropic-messages']}} | {more}"


WRONG = [
    Wrong(
        "no-name", greets("{'implementation': {}}"), "greeting", "hello.implementation: key `name` is missing"
    ),
    Wrong("old-protocol", greets("{'protocol': 0}"), "greeting", "answer with `protocol` 1"),
    Wrong(
        "api",
        greets("{'apis': ['anthropic-messages', 'openai_chats']}"),
        "apis",
        "did you mean `openai-chat`?",
    ),
    Wrong(
        "far-api",
        greets("{'apis': ['anthropic-messages', 'xyz']}"),
        "apis",
        "api `xyz` is not known; known are",
    ),
    Wrong("no-api", greets("{'apis': []}"), "apis", "it claims no api, so nothing is ever asked"),
    Wrong(
        "capability",
        greets("{'capabilities': ['toolCalls', 'thinking']}"),
        "capabilities",
        "capability `toolCalls` is not known; did you mean `tool_calls`?",
    ),
    Wrong("capability-text", greets("{'capabilities': 'usage'}"), "capabilities", "is a list of names"),
    Wrong(
        "claims-for-another",
        greets("{'capabilities': {'anthropic-messages': ['usage'], 'openai-chat': ['usage']}}"),
        "apis",
        "capabilities are claimed for `openai-chat`, which is not in `apis`",
    ),
    Wrong(
        "prints",
        "def reply(message): print('reading', flush=True); return answer(message)",
        "stdout",
        "got `reading`; print nothing else to stdout",
    ),
    Wrong(
        "for-nobody",
        "def reply(message): write({'op': 'event', 'id': 'x', 'event': {}}); return answer(message)",
        "stdout",
        "never asked",
        others=("unknown-op",),
    ),
    Wrong(
        "answers-twice",
        "def said(message): write(answer(message)); write(answer(message))",
        "answers",
        "answered 2 times",
        others=("stdout",),
    ),
    Wrong(
        "hangs",
        "def said(message): time.sleep(60)",
        "answers",
        "no answer in 0.3 s",
        seconds=0.3,
    ),
    Wrong("dies", "def said(message): sys.exit('out of cheese')", "answers", "out of cheese"),
    Wrong(
        "raises",
        "def reply(message): return answer(message) and {'op': 'result', 'id': message['id'], 'errored': "
        "{'message': 'KeyError: delta', 'traceback': 'Traceback\\n  at here'}}",
        "errored",
        "the adapter failed: KeyError: delta\n  | Traceback\n  |   at here",
    ),
    Wrong(
        "declines",
        "def reply(message): return answer(message) and {'op': 'result', 'id': message['id'], "
        "'skipped': {'reason': 'no mood'}}",
        "errored",
        "declined what it claims (no mood)",
    ),
    Wrong(
        "block-type",
        outcome("for block in given['content']: block['type'] = 'tool'"),
        "outcome",
        'outcome.content[0].type is "tool"; expected one of `text`, `thinking`, `refusal`, `tool_call`, '
        "`other`; write `tool_call`",
    ),
    Wrong(
        "status",
        outcome("given['status'] = 'completed'"),
        "outcome",
        'outcome.status is "completed"; expected',
    ),
    Wrong("reason", outcome("given['stop']['reason'] = 'end_turn'"), "outcome", "write `stop`"),
    Wrong("no-content", outcome("del given['content']"), "outcome", "outcome: key `content` is missing"),
    Wrong(
        "money",
        outcome("given['cost'] = given['cost'] and {'total': 0.25}"),
        "outcome",
        'outcome.cost.total is 0.25; expected a string or null; write decimal text, such as "0.002871"',
    ),
    Wrong(
        "tokens",
        outcome("given['usage']['input'] = '12'"),
        "outcome",
        'outcome.usage.input is "12"; expected an integer or null; write the number without quotes',
    ),
    Wrong(
        "arguments",
        outcome("for b in given['content']: b['arguments'] = b.get('arguments_text') or '{}'"),
        "arguments",
        'is the text "{\\"value\\": 26.2, \\"to\\": \\"km\\"}"; parse it',
        others=("event-order",),
    ),
    Wrong(
        "nothing-read",
        outcome("given |= {'status': 'incomplete', 'content': []}"),
        "content",
        "every outcome is empty, for a text and for a tool call; pass the stream to your library",
        others=("event-order",),
    ),
    Wrong(
        "error",
        "def reply(message): return answer(message) and {'op': 'result', 'id': message['id'], 'events': [], "
        "'outcome': {'status': 'error', 'content': [], 'error': {'type': 'E', 'message': 'no such host'}}}",
        "reading",
        'outcome.status is "error"; expected `complete`: outcome.error is "E": "no such host"',
        others=("event-order",),
    ),
    Wrong(
        "raises",
        "def reply(message): return answer(message) and {'op': 'result', 'id': message['id'], "
        "'raised': {'type': 'lib.Error', 'message': 'no such host', 'where': 'lib/read.py:3 in read'}}",
        "reading",
        "the library raised lib.Error: no such host, at lib/read.py:3 in read",
    ),
    Wrong(
        "cut-as-success",
        outcome("given['status'] = 'complete'"),
        "reading",
        'anthropic-messages cut: outcome.status is "complete"; expected `incomplete`',
        others=("event-order",),
    ),
    Wrong(
        "no-events",
        "def reply(message): return {k: v for k, v in (answer(message) or {}).items() if k != 'events'}",
        "events",
        "events are claimed, but none came",
    ),
    Wrong(
        "event-type",
        "def reply(message):\n    given = answer(message)\n"
        "    for event in (given or {}).get('events', ()): event['type'] = 'delta'\n    return given",
        "events",
        'events[0].type is "delta"; expected one of',
    ),
    Wrong(
        "after-the-end",
        "def reply(message):\n    given = answer(message)\n"
        "    if given and 'events' in given: given['events'] = given['events'] + [{'type': 'usage'}]\n"
        "    return given",
        "event-order",
        "1 events follow the terminal event",
    ),
    Wrong(
        "another-each-time",
        outcome("given['response_id'] = str(time.perf_counter())"),
        "determinism",
        "`response_id`",
        others=("unknown-field",),
    ),
    Wrong(
        "strict-about-fields",
        "def reply(message):\n    if 'future' in message: message = message | {'api': 'none'}\n"
        "    return answer(message)",
        "unknown-field",
        "ignore such fields",
        others=("errored",),
    ),
    Wrong(
        "dies-of-an-unknown-op",
        "def said(message): write({'run': answer}[message['op']](message))",
        "unknown-op",
        "is to be ignored",
    ),
    Wrong(
        "says-something-to-an-unknown-op",
        "no = {'op': 'result', 'id': 'none', 'skipped': {'reason': ''}}\n"
        "def said(message): write(answer(message) or no)",
        "unknown-op",
        "say nothing",
    ),
    Wrong(
        "dies-of-an-unknown-api",
        "def said(message):\n"
        "    given = {None: answer, 'anthropic-messages': answer}[message.get('api')](message)\n"
        "    if given: write(given)",
        "unknown-api",
        'answer `"skipped": {"reason": …}`',
    ),
    Wrong(
        "mixes-runs",
        greets("{'concurrency': 2}")
        + """
def said(message):
    ahead = [message]
    if message.get("id") == "7": ahead.append(json.loads(sys.stdin.readline()))
    given = [answer(each) for each in ahead]
    if len(given) == 2: given[0]["id"], given[1]["id"] = given[1]["id"], given[0]["id"]
    for each in given:
        if each: write(each)
""",
        "concurrency",
        "keep them apart by id",
    ),
    Wrong("goes-on", "def end(): time.sleep(60)", "stop", "it went on after `stop`"),
    Wrong("ends-badly", "def end(): sys.exit(3)", "stop", "it ended with code 3 after `stop`; end with 0"),
]


@pytest.mark.parametrize("wrong", [pytest.param(each, id=each.id) for each in WRONG])
def test_what_is_wrong_is_told_with_what_to_do(tmp_path, monkeypatch, wrong):
    monkeypatch.setattr("streamconform.tools.smoke.conversation.STOP_SECONDS", 0.5)
    found = examined(tmp_path, wrong.code, wrong.seconds)
    told = "\n".join(message for each in found.values() if each.mark == "FIX" for message in each.messages)
    assert wrong.says in "\n".join(found[wrong.check].messages), told
    assert {name for name, each in found.items() if each.mark == "FIX"} == {wrong.check, *wrong.others}, told


def test_what_was_not_tried_is_not_called_well(tmp_path):
    found = examined(tmp_path, "def said(message): sys.exit(1)")
    marks = {finding.mark for finding in found.values() if finding.check.startswith("unknown-")}
    assert marks == {"skip"}


def test_a_sane_program_has_nothing_to_fix(tmp_path):
    found = examined(tmp_path, "")
    assert {name: finding.messages for name, finding in found.items() if finding.mark == "FIX"} == {}
    assert list(found) == list(CHECKS)


@pytest.mark.parametrize("words", [("reference",), ("--", sys.executable, "-m", "streamconform_reference")])
def test_the_bundled_parser_is_sane(project, words):
    ran = project.run("smoke", *words)
    assert ran.code == 0, ran.out + ran.err
    assert "FIX" not in ran.out
    assert ran.last.startswith("Adapter OK. Next: conform run -i ")


def test_findings_are_lines_of_ok_and_fix_and_exit_with_1(project):
    ran = (
        project.with_file("mypkg/__init__.py", "").with_file("mypkg/conform.py", RAISES).run("smoke", "mypkg")
    )
    assert ran.code == 1
    assert ran.err == ""
    marks = {line[:4].strip() for line in ran.out.splitlines()[1:-1]}
    assert marks == {"ok", "FIX", "skip", ""}
    assert "the adapter failed: KeyError: 'delta'" in ran.out
    assert 'conform.py", line 3, in adapter' in ran.out
    assert ran.last == "1 to fix"


RAISES = "\ndef adapter(run):\n    raise KeyError('delta')\n\nadapter.capabilities = []\n"


def test_nothing_that_an_adapter_says_moves_the_cursor(project):
    code = "\ndef adapter(run): return {'status': '\\x1b[2J\\u202e\\x9b', 'content': []}\n"
    made = project.with_file("mypkg/__init__.py", "").with_file("mypkg/conform.py", code)
    ran = made.run("smoke", "mypkg")
    assert "outcome.status is" in ran.out
    assert not {"\x1b", "\u202e", "\x9b"} & set(ran.out)


def test_findings_are_json_where_that_is_asked_for(project):
    made = project.with_file("mypkg/__init__.py", "").with_file("mypkg/conform.py", RAISES)
    ran = made.run("smoke", "mypkg", "--format", "json")
    found = json.loads(ran.out)
    assert (found["impl"], found["exit"], ran.code) == ("mypkg", 1, 1)
    assert [each["check"] for each in found["checks"]] == list(CHECKS)
    assert {each["mark"] for each in found["checks"]} == {"ok", "fix", "skip"}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("smoke", "nosuchpackage"), 3, "no module `nosuchpackage`"),
        (("smoke", "cmd:nosuchprogram"), 3, "`nosuchprogram`: No such file"),
        (("smoke", "--", sys.executable, "-c", ""), 3, "it ended before it answered the greeting"),
        (("smoke",), 2, "name one implementation"),
        (("smoke", "reference", "--", "cat"), 2, "use one of them"),
        (("smoke", "magic:x"), 2, "unknown form `magic:`"),
    ],
)
def test_what_cannot_be_started_is_one_clear_message(project, words, code, said):
    ran = project.run(*words)
    assert ran.code == code, ran.out + ran.err
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_the_implementation_of_the_config_file_is_looked_at(project):
    ran = project.with_file("conform.toml", 'impl = "reference"\n').run("smoke")
    assert ran.code == 0, ran.out + ran.err


def test_whom_nobody_can_feed_is_asked_nothing():
    assert list(steps({"op": "hello", "inputs": ["telepathy"]})) == []


def test_every_api_that_is_claimed_is_asked_for():
    asked = {stream.api for step in steps({"op": "hello"}) for stream in step.runs.values()}
    assert asked == set(APIS)


@pytest.mark.parametrize("api", APIS)
def test_what_is_asked_are_cases_of_the_suite_and_expects_what_they_do(api):
    text, call, cut = streams(api)
    assert text.trial.body.startswith(cut.trial.body)
    assert len(cut.trial.body) < len(text.trial.body)
    of = APIS[api].smoke
    expected = {
        each.cassette.name: each.expect.content
        for each in bundled_suite.streams()
        if each.api == api
        and each.cassette.name in (of.text_cassette, of.call_cassette)
        and each.level == "must"
    }
    (said,), (called,) = expected[of.text_cassette], expected[of.call_cassette]
    assert said.fields["text"] == Literally(text.text)
    assert {name: called.fields[name].value for name in ("name", "arguments")} == call.call


CLIENT = """
import httpx

PATH = "/v1/messages"

def adapter(run):
    from streamconform_reference.adapter import CAPABILITIES
    from streamconform_reference.apis import DECODERS
    got = httpx.post(run.base_url + PATH, json=run.request, trust_env=False)
    decoder = DECODERS[run.api](status=got.status_code, headers=dict(got.headers), pricing=run.pricing)
    decoder.receive_data(got.content)
    decoder.receive_eof()
    return decoder.outcome.to_json()

adapter.inputs = ["http"]
adapter.apis = ["anthropic-messages"]
adapter.capabilities = ["tool_calls", "usage", "cost"]
"""


def test_a_client_over_http_is_asked_as_well(project):
    ran = project.with_file("mypkg.py", CLIENT).run("smoke", "python:mypkg:adapter")
    assert ran.code == 0, ran.out + ran.err
    assert "ok    requests       asks the server that it is given" in ran.out


def test_a_client_that_asks_the_wrong_path_is_told_so(project):
    code = CLIENT.replace("/v1/messages", "/v1/complete")
    ran = project.with_file("mypkg.py", code).run("smoke", "python:mypkg:adapter")
    assert ran.code == 1
    (line,) = [line for line in ran.out.splitlines() if line.startswith("FIX   requests")]
    assert line.endswith("the server got `POST /v1/complete`; expected `POST BASE_URL/v1/messages`")


def test_a_program_that_takes_pushed_chunks_is_fed_so(tmp_path):
    found = examined(tmp_path, greets("{'inputs': ['push', 'bytes']}") + PUSHED)
    assert {name: finding.messages for name, finding in found.items() if finding.mark == "FIX"} == {}
    assert found["reading"].mark == "ok"


PUSHED = """
session = Session()
def said(message):
    for each in session.reply_to(message): write(each)
"""


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("toolCalls", ("tool_calls", "cost"), "tool_calls"),
        ("anthropic", ("anthropic-messages",), "anthropic-messages"),
        ("qq", ("cost",), None),
    ],
)
def test_the_name_that_was_meant_is_found(word, known, meant):
    assert closest(word, known) == meant


def test_a_misfit_names_the_place_the_value_and_what_is_expected():
    (words,) = misfits("outcome.v1", {"status": "complete", "content": "Hello"}, "outcome")
    assert words == (
        'outcome.content is "Hello"; expected an array; write blocks, [{"type": "text", "text": "…"}]'
    )


def test_the_output_in_the_adapter_guide_is_what_is_printed():
    for page, content in smoke.generate().items():
        assert content == page.read_bytes(), describe_outdated("smoke")
