"""`conform smoke` reports each mistake in an adapter with its fix, and nothing else."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass

import pytest

from streamconform.adapters import process
from streamconform.adapters.connect import Connection
from streamconform.adapters.idle_limit import Activity
from streamconform.apis import APIS
from streamconform.judge import decode
from streamconform.model.case import Literally
from streamconform.smoke import claim_checks, conversation
from streamconform.smoke.checks import CHECKS, run_checks
from streamconform.smoke.conversation import hold_conversation, plan_steps
from streamconform.smoke.schema_messages import find_mismatches
from streamconform.smoke.streams import PRICING, load_document, load_streams
from streamconform_dev.docs import smoke
from streamconform_dev.docs.blocks import describe_outdated
from streamconform_reference import DECODERS, decode_document

from .. import bundled_suite
from .project import run_forked

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
def outcome(value): return value
def handle(message):
    value = reply(message)
    if value and value.get("outcome"): value["outcome"] = outcome(copy.deepcopy(value["outcome"]))
    if value: write(value)
def end(): pass

{code}

for line in sys.stdin:
    message = json.loads(line)
    if message["op"] == "hello": write(greeting())
    elif message["op"] == "stop": break
    else: handle(message)
end()
"""
"""The reference as a program; `code` overrides one of its functions with a mistake."""


def run_smoke(folder, code, timeout=20.0):
    path = folder / "program.py"
    path.write_text(PROGRAM.format(code=code), "utf-8")
    transcript = hold_conversation(Connection("cmd:program", (sys.executable, str(path))), timeout)
    return {result.check: result for result in run_checks(transcript)}


@dataclass(frozen=True, slots=True)
class Mistake:
    id: str
    code: str
    check: str
    message: str
    timeout: float = 20.0
    other_checks: tuple[str, ...] = ()
    """Other checks that the mistake fails."""


def change_outcome(line):
    return f"def outcome(value):\n    {line}\n    return value"


def change_greeting(more):
    return f"def greeting(): return build_hello() | {{'apis': ['anthropic-messages']}} | {more}"


MISTAKES = [
    Mistake(
        "no-name",
        change_greeting("{'implementation': {}}"),
        "greeting",
        "hello.implementation: key `name` is missing",
    ),
    Mistake("old-protocol", change_greeting("{'protocol': 0}"), "greeting", "answer with `protocol` 1"),
    Mistake(
        "api",
        change_greeting("{'apis': ['anthropic-messages', 'openai_chats']}"),
        "apis",
        "did you mean `openai-chat`?",
    ),
    Mistake(
        "far-api",
        change_greeting("{'apis': ['anthropic-messages', 'xyz']}"),
        "apis",
        "unknown api `xyz`; known: ",
    ),
    Mistake(
        "no-api", change_greeting("{'apis': []}"), "apis", "hello.apis is empty, so the adapter gets no runs"
    ),
    Mistake(
        "capability",
        change_greeting("{'capabilities': ['toolCalls', 'thinking']}"),
        "capabilities",
        "unknown capability `toolCalls`; did you mean `tool_calls`?",
    ),
    Mistake(
        "capability-text",
        change_greeting("{'capabilities': 'usage'}"),
        "capabilities",
        "must be a list of names",
    ),
    Mistake(
        "claims-for-unlisted-api",
        change_greeting("{'capabilities': {'anthropic-messages': ['usage'], 'openai-chat': ['usage']}}"),
        "apis",
        "capabilities are claimed for `openai-chat`, which is not in `apis`",
    ),
    Mistake(
        "prints",
        "def reply(message): print('reading', flush=True); return answer(message)",
        "stdout",
        "got `reading`; print nothing else to stdout",
    ),
    Mistake(
        "wrong-id",
        "def reply(message): write({'op': 'event', 'id': 'x', 'event': {}}); return answer(message)",
        "stdout",
        "send back the id of the run",
        other_checks=("unknown-op",),
    ),
    Mistake(
        "answers-twice",
        "def handle(message): write(answer(message)); write(answer(message))",
        "answers",
        "answered 2 times",
        other_checks=("stdout",),
    ),
    Mistake(
        "hangs",
        "def handle(message): time.sleep(60)",
        "answers",
        "no answer in 0.3 s",
        timeout=0.3,
    ),
    Mistake("dies", "def handle(message): sys.exit('out of cheese')", "answers", "out of cheese"),
    Mistake(
        "raises",
        "def reply(message): return answer(message) and {'op': 'result', 'id': message['id'], 'errored': "
        "{'message': 'KeyError: delta', 'traceback': 'Traceback\\n  at here'}}",
        "errored",
        "the adapter failed: KeyError: delta\n  | Traceback\n  |   at here",
    ),
    Mistake(
        "declines",
        "def reply(message): return answer(message) and {'op': 'result', 'id': message['id'], "
        "'skipped': {'reason': 'no mood'}}",
        "errored",
        "skipped a run that its claims include (no mood)",
    ),
    Mistake(
        "block-type",
        change_outcome("for block in value['content']: block['type'] = 'tool'"),
        "outcome",
        'outcome.content[0].type is "tool"; expected one of `text`, `thinking`, `refusal`, `tool_call`, '
        "`other`; write `tool_call`",
    ),
    Mistake(
        "status",
        change_outcome("value['status'] = 'completed'"),
        "outcome",
        'outcome.status is "completed"; expected',
    ),
    Mistake("reason", change_outcome("value['stop']['reason'] = 'end_turn'"), "outcome", "write `stop`"),
    Mistake(
        "no-content", change_outcome("del value['content']"), "outcome", "outcome: key `content` is missing"
    ),
    Mistake(
        "money",
        change_outcome("value['cost'] = value['cost'] and {'total': 0.25}"),
        "outcome",
        'outcome.cost.total is 0.25; expected a string or null; write a decimal string, such as "0.002871"',
    ),
    Mistake(
        "tokens",
        change_outcome("value['usage']['input'] = '12'"),
        "outcome",
        'outcome.usage.input is "12"; expected an integer or null; write the number without quotes',
    ),
    Mistake(
        "arguments",
        change_outcome("for b in value['content']: b['arguments'] = b.get('arguments_text') or '{}'"),
        "arguments",
        'is the string "{\\"value\\": 26.2, \\"to\\": \\"km\\"}"; parse it',
        other_checks=("event-order",),
    ),
    Mistake(
        "empty-content",
        change_outcome("value |= {'status': 'incomplete', 'content': []}"),
        "content",
        "the outcome of every stream is empty; pass the stream to your library, and return its result",
        other_checks=("event-order",),
    ),
    Mistake(
        "wrong-text",
        change_outcome("value |= {'content': [{'type': 'text', 'text': 'x'}]}"),
        "reading",
        'anthropic-messages text, anthropic-messages cut: the text is "x"; expected "Nairobi lies',
        other_checks=("event-order",),
    ),
    Mistake(
        "error-status",
        "def reply(message): return answer(message) and {'op': 'result', 'id': message['id'], 'events': [], "
        "'outcome': {'status': 'error', 'content': [], 'error': {'type': 'E', 'message': 'no such host'}}}",
        "reading",
        'outcome.status is "error"; expected `complete`: outcome.error is "E": "no such host"',
        other_checks=("event-order",),
    ),
    Mistake(
        "library-raises",
        "def reply(message): return answer(message) and {'op': 'result', 'id': message['id'], "
        "'raised': {'type': 'lib.Error', 'message': 'no such host', 'where': 'lib/read.py:3 in read'}}",
        "reading",
        "the library raised lib.Error: no such host (lib/read.py:3 in read)",
    ),
    Mistake(
        "cut-as-complete",
        change_outcome("value['status'] = 'complete'"),
        "reading",
        'anthropic-messages cut: outcome.status is "complete"; expected `incomplete`',
        other_checks=("event-order",),
    ),
    Mistake(
        "usage-keys",
        change_outcome("value['usage'] = {'input_tokens': 999999}"),
        "claims",
        "outcome.usage has no known key, so it counts as null; the known keys are `cache_read`, "
        "`cache_write`, `cache_write_1h`, `input`, `output`, `reasoning`, `web_searches`\n"
        "`usage.input_tokens`: unknown key; did you mean `input`?\n"
        "otherwise, do not claim `usage`; your adapter returned: tool_calls, ",
        other_checks=("event-order",),
    ),
    Mistake(
        "error-keys",
        change_outcome("if value['status'] == 'incomplete': value['error'] = {'detail': 'cut'}"),
        "claims",
        "anthropic-messages cut: outcome.error has no known key, so it counts as null; the known keys are "
        "`message`, `status`, `type`\n`error.detail`: unknown key\n",
    ),
    Mistake(
        "unreported-claims",
        change_outcome("del value['cost'], value['stop']['raw']"),
        "claims",
        "`cost`, `raw_stop`: claimed, but no answer to a stream with such a value has one; report it, or "
        "leave it out of `capabilities`\nyour adapter returned: tool_calls, usage, ",
        other_checks=("event-order",),
    ),
    Mistake(
        "no-events",
        "def reply(message): return {k: v for k, v in (answer(message) or {}).items() if k != 'events'}",
        "events",
        "`events` is claimed, but none were sent",
    ),
    Mistake(
        "event-type",
        "def reply(message):\n    value = answer(message)\n"
        "    for event in (value or {}).get('events', ()): event['type'] = 'delta'\n    return value",
        "events",
        'events[0].type is "delta"; expected one of',
    ),
    Mistake(
        "after-the-end",
        "def reply(message):\n    value = answer(message)\n"
        "    if value and 'events' in value: value['events'] = value['events'] + [{'type': 'usage'}]\n"
        "    return value",
        "event-order",
        "1 events follow the terminal event",
    ),
    Mistake(
        "random-id",
        change_outcome("value['response_id'] = str(time.perf_counter())"),
        "determinism",
        "`response_id`",
        other_checks=("unknown-field",),
    ),
    Mistake(
        "strict-about-fields",
        "def reply(message):\n    if 'future' in message: message = message | {'api': 'none'}\n"
        "    return answer(message)",
        "unknown-field",
        "ignore such fields",
        other_checks=("errored",),
    ),
    Mistake(
        "exits-at-an-unknown-op",
        "def handle(message): write({'run': answer}[message['op']](message))",
        "unknown-op",
        "ignore such messages",
    ),
    Mistake(
        "answers-an-unknown-op",
        "no = {'op': 'result', 'id': 'none', 'skipped': {'reason': ''}}\n"
        "def handle(message): write(answer(message) or no)",
        "unknown-op",
        "do not answer it",
    ),
    Mistake(
        "exits-at-an-unknown-api",
        "def handle(message):\n"
        "    value = {None: answer, 'anthropic-messages': answer}[message.get('api')](message)\n"
        "    if value: write(value)",
        "unknown-api",
        'answer with `"skipped": {"reason": …}`',
    ),
    Mistake(
        "mixes-runs",
        change_greeting("{'concurrency': 2}")
        + """
def handle(message):
    ahead = [message]
    if message.get("id") == "8": ahead.append(json.loads(sys.stdin.readline()))
    answers = [answer(run) for run in ahead]
    if len(answers) == 2: answers[0]["id"], answers[1]["id"] = answers[1]["id"], answers[0]["id"]
    for value in answers:
        if value: write(value)
""",
        "concurrency",
        "keep runs apart by id",
    ),
    Mistake("goes-on", "def end(): time.sleep(60)", "stop", "still running after `stop`"),
    Mistake("ends-badly", "def end(): sys.exit(3)", "stop", "exited with code 3 after `stop`; exit with 0"),
]


def with_package(project, code):
    return project.with_file("mypkg/__init__.py", "").with_file("mypkg/conform.py", code)


def get_fixes(results):
    return {name: result.messages for name, result in results.items() if result.mark == "FIX"}


@pytest.mark.parametrize("mistake", [pytest.param(mistake, id=mistake.id) for mistake in MISTAKES])
def test_each_mistake_is_reported_with_its_fix(tmp_path, monkeypatch, mistake):
    monkeypatch.setattr("streamconform.smoke.conversation.STOP_SECONDS", 0.5)
    results = run_smoke(tmp_path, mistake.code, mistake.timeout)
    fixes = get_fixes(results)
    assert mistake.message in "\n".join(results[mistake.check].messages), fixes
    assert set(fixes) == {mistake.check, *mistake.other_checks}, fixes


def test_a_check_whose_step_was_not_tried_is_skipped(tmp_path):
    results = run_smoke(tmp_path, "def handle(message): sys.exit(1)")
    marks = {result.mark for name, result in results.items() if name.startswith("unknown-")}
    assert marks == {"skip"}


@pytest.mark.parametrize(("is_busy", "mark"), [(True, "ok"), (False, "FIX")], ids=["busy", "idle"])
def test_a_program_that_is_busy_exiting_does_not_ignore_stop(tmp_path, monkeypatch, is_busy, mark):
    monkeypatch.setattr(conversation, "STOP_SECONDS", 0.8)
    monkeypatch.setattr(process, "read_activity", lambda _: Activity(is_runnable=is_busy))
    assert run_smoke(tmp_path, "def end(): time.sleep(1.6)")["stop"].mark == mark


def test_a_correct_program_has_nothing_to_fix(tmp_path):
    results = run_smoke(tmp_path, "")
    assert get_fixes(results) == {}
    assert list(results) == list(CHECKS)


@pytest.mark.parametrize(
    "arguments", [("reference",), ("--", sys.executable, "-m", "streamconform_reference")]
)
def test_the_bundled_parser_passes(project, arguments):
    ran = project.run("smoke", *arguments)
    assert ran.code == 0, ran.out + ran.err
    assert "FIX" not in ran.out
    assert ran.last.startswith("Adapter OK. Next: conform run -i ")


def test_a_failed_check_prints_fix_and_exits_with_1(project):
    ran = with_package(project, RAISES).run("smoke", "mypkg")
    assert ran.code == 1
    assert ran.err == ""
    marks = {line[:4].strip() for line in ran.out.splitlines()[1:-1]}
    assert marks == {"ok", "FIX", "skip", ""}
    assert "the adapter failed: KeyError: 'delta'" in ran.out
    assert 'conform.py", line 3, in adapter' in ran.out
    assert ran.last == "1 to fix"


RAISES = "\ndef adapter(run):\n    raise KeyError('delta')\n\nadapter.capabilities = []\n"


def test_control_characters_of_an_adapter_are_escaped(project):
    code = "\ndef adapter(run): return {'status': '\\x1b[2J\\u202e\\x9b', 'content': []}\n"
    ran = with_package(project, code).run("smoke", "mypkg")
    assert "outcome.status is" in ran.out
    assert not {"\x1b", "\u202e", "\x9b"} & set(ran.out)


def test_format_json_prints_the_results_as_json(project):
    ran = with_package(project, RAISES).run("smoke", "mypkg", "--format", "json")
    document = json.loads(ran.out)
    assert (document["impl"], document["exit"], ran.code) == ("mypkg", 1, 1)
    assert [result["check"] for result in document["checks"]] == list(CHECKS)
    assert {result["mark"] for result in document["checks"]} == {"ok", "fix", "skip"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("smoke", "nosuchpackage"), 3, "no module `nosuchpackage`"),
        (("smoke", "cmd:nosuchprogram"), 3, "`nosuchprogram`: No such file"),
        (("smoke", "--", sys.executable, "-c", ""), 3, "it ended before it answered the greeting"),
        (("smoke",), 2, "name one implementation"),
        (("smoke", "reference", "--", "cat"), 2, "use one of them"),
        (("smoke", "magic:x"), 2, "unknown form `magic:`"),
    ],
)
def test_an_adapter_that_cannot_start_gives_one_clear_message(project, arguments, code, message):
    ran = project.run(*arguments)
    assert ran.code == code, ran.out + ran.err
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_the_implementation_of_the_config_file_is_the_default(project):
    ran = project.with_file("conform.toml", 'impl = "reference"\n').run("smoke")
    assert ran.code == 0, ran.out + ran.err


def test_an_adapter_with_an_unknown_input_mode_gets_no_steps():
    assert list(plan_steps({"op": "hello", "inputs": ["telepathy"]})) == []


def test_every_claimed_api_has_a_step():
    apis = {stream.api for step in plan_steps({"op": "hello"}) for stream in step.runs.values()}
    assert apis == set(APIS)


@pytest.mark.parametrize("api", APIS)
def test_the_sample_streams_are_cases_of_the_suite_with_the_same_expectations(api):
    text, call, cut = load_streams(api)
    assert text.trial.body.startswith(cut.trial.body)
    assert len(cut.trial.body) < len(text.trial.body)
    smoke_streams = APIS[api].smoke
    expected = {
        case.cassette.name: case.expect.content
        for case in bundled_suite.streams()
        if case.api == api
        and case.cassette.name in (smoke_streams.text_cassette, smoke_streams.call_cassette)
        and case.level == "must"
    }
    (text_block,), (call_block,) = (
        expected[smoke_streams.text_cassette],
        expected[smoke_streams.call_cassette],
    )
    assert text_block.fields["text"] == Literally(text.text)
    assert {name: call_block.fields[name].value for name in ("name", "arguments")} == call.call


@pytest.mark.parametrize("api", APIS)
def test_the_sample_document_says_what_the_reference_reads(api):
    document = load_document(api)
    outcome = decode_document(document.trial.body, api)
    assert (outcome.status, [block.text for block in outcome.content]) == ("complete", [document.text])


def test_an_adapter_that_reads_a_document_as_a_stream_is_reported(tmp_path):
    code = "def reply(message): return answer({**message, 'stream': True})"
    results = run_smoke(tmp_path, code)
    assert set(get_fixes(results)) == {"reading"}
    (message,) = get_fixes(results)["reading"]
    assert message.startswith("anthropic-messages document: ")


def test_an_adapter_that_does_not_claim_documents_gets_none():
    greetings = ({"op": "hello"}, {"op": "hello", "capabilities": ["events"]})
    names = [step.name for greeting in greetings for step in plan_steps(greeting)]
    assert [name for name in names if "document" in name] == []


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


def test_an_http_client_is_checked(project):
    ran = project.with_file("mypkg.py", CLIENT).run("smoke", "python:mypkg:adapter")
    assert ran.code == 0, ran.out + ran.err
    assert "ok    requests       sends its requests to the base URL" in ran.out


def test_a_client_that_ignores_what_a_run_asks_is_reported(project):
    claims = 'adapter.capabilities = ["tool_calls", "usage", "cost"'
    code = CLIENT.replace(claims, f'{claims}, "abort", "retries", "concurrency", "backpressure"')
    ran = project.with_file("mypkg.py", code).run("smoke", "python:mypkg:adapter", "--timeout", "3")
    assert ran.code == 1
    lines = ran.out[ran.out.index("controls") :].splitlines()
    problems = " ".join(" ".join(lines[:9]).split())
    for problem in (
        "control stop abort: `stop` is `abort`, but the answer was read on after delta 1",
        "control at_once 2, control times 2: expected 2 outcomes in `outcomes`, got 0",
        "control pause: `pause.url` was not requested",
    ):
        assert problem in problems


def test_what_a_client_lacks_is_not_asked_of_it(project):
    code = CLIENT.replace(
        '"cost"]', '"cost", "abort"]\nadapter.lacks = ["control.abort", "control.cancel", "control.abandon"]'
    )
    ran = project.with_file("mypkg.py", code).run("smoke", "python:mypkg:adapter")
    assert ran.code == 0, ran.out + ran.err
    assert "skip  controls" in ran.out


def test_the_client_with_every_capability_does_what_a_run_asks(project):
    ran = project.run("smoke", "python:streamconform_client:adapter")
    assert ran.code == 0, ran.out + ran.err
    assert "ok    controls       does what `control` asks" in ran.out


def test_a_request_to_a_wrong_path_is_reported(project):
    code = CLIENT.replace("/v1/messages", "/v1/complete")
    ran = project.with_file("mypkg.py", code).run("smoke", "python:mypkg:adapter")
    assert ran.code == 1
    (line,) = [line for line in ran.out.splitlines() if line.startswith("FIX   requests")]
    assert line.endswith("the server got `POST /v1/complete`; expected `POST BASE_URL/v1/messages`")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (
            "import mylib\n\ndef adapter(run):\n    return mylib.create(stream=True)\n",
            "the library raised TypeError: no `stream` (mylib/__init__.py:2 in create)",
        ),
        ("def adapter(run):\n    return run.request['tools']\n", "the adapter failed: KeyError: 'tools'"),
        ("def adapter(run):\n    return {}\n", "expected `POST BASE_URL/v1/messages`; check that the client"),
    ],
)
def test_if_no_request_arrives_the_exception_is_the_reason_and_else_the_base_url(project, code, reason):
    claims = "adapter.inputs = ['http']\nadapter.apis = ['anthropic-messages']\n"
    made = project.with_file(
        "mylib/__init__.py", "def create(**options):\n    raise TypeError('no `stream`')\n"
    )
    ran = made.with_file("mypkg.py", code + claims).run("smoke", "python:mypkg:adapter")
    lines = [line for line in ran.out.splitlines() if line.startswith("FIX   requests")]
    assert "no request arrived" in lines[0]
    assert reason in lines[0]


def test_a_program_in_push_mode_gets_chunks(tmp_path):
    results = run_smoke(tmp_path, change_greeting("{'inputs': ['push', 'bytes']}") + PUSHED)
    assert get_fixes(results) == {}
    assert results["reading"].mark == "ok"


PUSHED = """
session = Session()
def handle(message):
    for reply in session.reply_to(message): write(reply)
"""


def test_a_mismatch_names_path_value_and_expected_type():
    (message,) = find_mismatches("outcome.v1", {"status": "complete", "content": "Hello"}, "outcome")
    assert message == (
        'outcome.content is "Hello"; expected an array; write blocks, [{"type": "text", "text": "…"}]'
    )


def test_the_output_in_the_adapter_guide_is_current():
    for page, content in smoke.generate(run_forked).items():
        assert content == page.read_bytes(), describe_outdated("smoke")


SHORT = """
def adapter(run):
    from streamconform_reference import adapter as reference
    outcome = list(reference(run))[-1]["outcome"]
    del outcome["cost"], outcome["usage"]["cache_read"]
    return outcome


adapter.apis = ["anthropic-messages"]
"""


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("adapter.capabilities = ['usage', 'cost', 'thinking']", '["tool_calls", "thinking", "usage", '),
        ("adapter.capabilities = {'anthropic-messages': ['usage', 'cost']}", None),
    ],
    ids=["list", "mapping"],
)
def test_the_proposed_claims_are_what_was_returned_and_what_the_samples_cannot_show(project, code, line):
    ran = with_package(project, SHORT + code).run("smoke", "mypkg")
    assert ran.code == 1
    assert ran.last == "1 to fix"
    assert "your adapter returned: tool_calls, usage, " in ran.out
    assert ("`adapter.capabilities = " in ran.out) == (line is not None)
    assert line is None or line in ran.out


def test_a_program_gets_its_claims_as_json(tmp_path):
    results = run_smoke(tmp_path, change_outcome("del value['cost']"))
    assert '; `"capabilities": ["tool_calls", "parallel_tool_calls", ' in results["claims"].messages[0]


def test_the_samples_have_the_values_that_smoke_expects_of_them():
    for api, module in APIS.items():
        for stream in load_streams(api)[:2]:
            cassette = stream.trial.case.cassette
            decoder = DECODERS[api](status=200, headers=cassette.headers, pricing=PRICING)
            decoder.receive_data(cassette.body)
            decoder.receive_eof()
            outcome = decode.decode_outcome(decoder.outcome.to_json())
            shown = {name for name in claim_checks.REPORTED if claim_checks.REPORTED[name](outcome)}
            silent = shown & {"usage", "cost", "raw_stop"}
            assert silent == set(module.smoke.values), (api, stream.name)
