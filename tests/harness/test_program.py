"""Programs that break the protocol in every way: each gives a typed answer, and none outlives the harness."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass

import pytest

from streamconform.adapters import process_cleanup, protocol
from streamconform.adapters import program as program_module
from streamconform.adapters.connect import Connection
from streamconform.adapters.interface import Errored, Hang, Observation, ProtocolFault, Skipped
from streamconform.adapters.process import find_error_line
from streamconform.adapters.program import Collateral, Program
from streamconform.adapters.protocol import RAISED_OUTCOME
from streamconform.model.result import Raised
from streamconform.schemas import find_problems

from . import builders

SECONDS = 1.0
TRIAL = builders.trial()


def ask(connection: Connection, times: int = 1, *, seconds: float = SECONDS, at_once: bool = False):
    """Return the answers to `times` runs, which are sent one after another or all together."""

    async def run_program():
        program = Program(connection)
        try:
            await program.start()
            runs = [program.run(TRIAL, seconds, events=True) for _ in range(times)]
            return await asyncio.gather(*runs) if at_once else [await run for run in runs]
        finally:
            await program.stop()

    return asyncio.run(run_program())


def judge_slowly():
    """Block the loop beyond the deadline of the trial in flight, as the judging of a large answer does."""
    time.sleep(0.6)


WHILE_JUDGING = {
    "answers": (
        "write(id=read()['id'], op='result', outcome={'status': 'complete'})",
        Observation({"status": "complete"}),
    ),
    "hangs": ("read(); time.sleep(30)", Hang(0.2)),
}


@pytest.mark.parametrize(("code", "answer"), WHILE_JUDGING.values(), ids=WHILE_JUDGING)
def test_an_answer_counts_if_it_arrives_while_the_harness_judges_another(tmp_path, code, answer):
    async def run_program():
        program = Program(builders.program(tmp_path, f"greet(); {code}"))
        try:
            await program.start()
            run = asyncio.create_task(program.run(TRIAL, 0.2, events=False))
            await asyncio.sleep(0)  # the task sends the trial
            judge_slowly()
            return await run
        finally:
            await program.stop()

    assert asyncio.run(run_program()) == answer


@dataclass(frozen=True, slots=True)
class Broken:
    id: str
    code: str
    kind: str
    says: str


BROKEN = [
    Broken("exits", "greet(); read(); sys.exit(7)", "exited", "exit code 7"),
    Broken("says-why", "greet(); read(); sys.exit('out of cheese')", "exited", "out of cheese"),
    Broken("is-killed", "greet(); read(); os.kill(os.getpid(), 9)", "exited", "signal SIGKILL"),
    Broken("prints", "greet(); read(); print('hello', flush=True); time.sleep(9)", "not-json", "`hello`"),
    Broken("prints-a-list", "greet(); read(); print('[]', flush=True); time.sleep(9)", "not-json", "[]"),
    Broken(
        "prints-nan", "greet(); write(id=read()['id'], op='result', outcome=float('nan'))", "not-json", "NaN"
    ),
    Broken(
        "prints-more-than-a-double",
        'greet(); i = read()[\'id\']; print(\'{"op":"result","id":"%s","outcome":1e999}\' % i, flush=True)',
        "not-json",
        "1e999",
    ),
    Broken(
        "nests-deep",
        'greet(); i = read()[\'id\']; print(\'{"op":"result","id":"%s","outcome":%s}\''
        " % (i, '['*300 + ']'*300), flush=True)",
        "too-deep",
        "nested deeper than 200",
    ),
    Broken(
        "nests-deeper-than-python",
        "greet(); read(); print('['*100_000, flush=True)",
        "too-deep",
        "(100001 bytes)",
    ),
    Broken(
        "not-utf-8",
        'greet(); read(); os.write(1, b\'{"op": "\\xff"}\\n\'); time.sleep(9)',
        "not-json",
        'byte 8 (0xff) is not UTF-8 in `{"op": "\\xff"}`',
    ),
    Broken("no-id", "greet(); read(); write(op='result'); time.sleep(9)", "not-a-message", "`id` is missing"),
    Broken(
        "number-as-id", "greet(); read(); write(op='result', id=1); time.sleep(9)", "not-a-message", "`id`"
    ),
    Broken("wrong-id", "greet(); read(); write(op='result', id='99'); time.sleep(9)", "unknown-id", "`99`"),
    Broken(
        "wrong-op",
        "greet(); write(op='answer', id=read()['id']); time.sleep(9)",
        "not-a-message",
        'expected `op` to be `result` or `event`, got "answer"',
    ),
    Broken(
        "empty-result",
        "greet(); write(op='result', id=read()['id']); time.sleep(9)",
        "not-a-message",
        "`outcome`",
    ),
    Broken("closes-stdout", "greet(); read(); os.close(1); time.sleep(9)", "exited", "it closed stdout"),
    Broken("half-a-line", "greet(); read(); os.write(1, b'{\"op\":')", "exited", 'in the middle of `{"op":`'),
    Broken(
        "talks-before-it-is-asked", "greet(); print('ready', flush=True); time.sleep(9)", "not-json", "ready"
    ),
]


@pytest.mark.parametrize("case", [pytest.param(each, id=each.id) for each in BROKEN])
def test_a_broken_protocol_is_a_typed_fault(tmp_path, monkeypatch, case):
    monkeypatch.setattr(program_module, "STOP_SECONDS", 0.3)
    (answer,) = ask(builders.program(tmp_path, case.code))
    assert isinstance(answer, ProtocolFault), answer
    assert answer.kind == case.kind, answer
    assert case.says in answer.message


def test_a_line_beyond_the_bound_is_a_fault(tmp_path, monkeypatch):
    monkeypatch.setattr(protocol, "MAX_LINE", 1000)
    code = "greet(); read(); print('x' * 5000, flush=True); time.sleep(9)"
    (answer,) = ask(builders.program(tmp_path, code))
    assert isinstance(answer, ProtocolFault)
    assert answer.kind == "line-too-long"
    assert answer.message.startswith("a line exceeds 1000 bytes;")


def test_a_line_without_end_is_a_fault(tmp_path, monkeypatch):
    monkeypatch.setattr(protocol, "MAX_LINE", 1000)
    code = "greet(); read()\nwhile True: os.write(1, b'x' * 1000)"
    (answer,) = ask(builders.program(tmp_path, code))
    assert isinstance(answer, ProtocolFault)
    assert answer.kind == "line-too-long"


def test_too_many_events_are_a_fault(tmp_path, monkeypatch):
    monkeypatch.setattr(protocol, "MAX_EVENTS", 10)
    code = "greet(); i = read()['id']\nwhile True: write(op='event', id=i, event={})"
    (answer,) = ask(builders.program(tmp_path, code))
    assert isinstance(answer, ProtocolFault)
    assert answer.kind == "too-many-events"


def test_a_second_answer_is_reported_at_the_next_run(tmp_path):
    """The second answer may come at any time; the run that is waiting then notices it, never a later run."""
    code = """\
greet()
while (message := read())["op"] == "run":
    for _ in range(2):
        write(op="result", id=message["id"], outcome=GOOD)
"""
    first, second = ask(builders.program(tmp_path, code), 2)
    assert first == Observation({"status": "complete", "content": []})
    assert isinstance(second, ProtocolFault)
    assert second.kind == "answered-twice"
    assert "`1` is already answered" in second.message


HANGS = [
    ("never-answers", "greet(); read(); time.sleep(9)"),
    ("never-reads", "greet(); time.sleep(9)"),
    ("ignores-sigterm", "import signal; signal.signal(15, signal.SIG_IGN); greet(); time.sleep(9)"),
    ("closes-stdin", "greet(); sys.stdin.close(); os.close(0); time.sleep(9)"),
    ("only-events", "greet(); i = read()['id']; write(op='event', id=i, event={}); time.sleep(9)"),
]


@pytest.mark.parametrize("code", [code for _, code in HANGS], ids=[id_ for id_, _ in HANGS])
def test_no_answer_in_time_is_a_hang(tmp_path, code):
    started = time.monotonic()
    assert ask(builders.program(tmp_path, code), seconds=0.2) == [Hang(0.2)]
    assert time.monotonic() - started < 2


def test_a_program_that_reads_nothing_is_a_hang_even_if_the_pipe_is_full(tmp_path):
    big = builders.trial(builders.case(body=b"data: " + b"x" * 500_000 + b"\n\n"))

    async def run_program():
        program = Program(builders.program(tmp_path, "greet(); time.sleep(9)"))
        await program.start()
        try:
            return await program.run(big, 0.2, events=False)
        finally:
            await program.stop()

    assert asyncio.run(run_program()) == Hang(0.2)


REPORTED = {"type": "api.Error", "message": "a\nb" + "x" * 1000, "where": "api/read.js:7 in next"}
KEPT = Raised("api.Error", "a\\nb" + "x" * 485 + "…" + "x" * 10, "api/read.js:7 in next")
ANSWERS = [
    ("skipped", {"skipped": {"reason": "no"}}, Skipped("no")),
    ("errored", {"errored": {"message": "oh", "traceback": "at"}}, Errored("oh", "at")),
    ("outcome", {"outcome": 1, "events": [2], "taken": [1]}, Observation(1, [2], (1,))),
    ("taken-is-nonsense", {"outcome": 1, "taken": [1.5]}, Observation(1)),
    ("raised", {"raised": REPORTED}, Observation(RAISED_OUTCOME, raised=KEPT)),
    ("raised-and-outcome", {"outcome": 1, "raised": REPORTED, "events": []}, Observation(1, [], raised=KEPT)),
    ("raised-is-nonsense", {"outcome": 1, "raised": "oh"}, Observation(1)),
]


@pytest.mark.parametrize(
    ("fields", "answer"), [each[1:] for each in ANSWERS], ids=[each[0] for each in ANSWERS]
)
def test_answers_arrive_unchanged(tmp_path, fields, answer):
    code = f"greet(); write(op='result', id=read()['id'], **{fields!r}); read()"
    assert ask(builders.program(tmp_path, code)) == [answer]


PLACES = [
    (
        "at next (file:///srv/me/app/node_modules/openai/core/streaming.mjs:61:7)",
        "at next (openai/core/streaming.mjs:61:7)",
    ),
    ("/srv/me/my app/src/parse.rs:12", "parse.rs:12"),
    ("C:\\Users\\me\\lib\\read.cs:line 3", "read.cs:line 3"),
    ("/srv/go/pkg/mod/github.com/x/y@v1.2.0/sse.go:40 in Next", "github.com/x/y@v1.2.0/sse.go:40 in Next"),
    ("src/parse.rs:12:5", "src/parse.rs:12:5"),
    ("lib/read.py:3 in read", "lib/read.py:3 in read"),
]


@pytest.mark.parametrize(("where", "kept"), PLACES)
def test_the_place_of_an_exception_has_no_folder_of_this_machine(where, kept):
    assert protocol.parse_raised({"type": "E", "where": where}).where == kept


def test_a_traceback_in_the_message_of_an_exception_is_left_out():
    message = 'lost the connection\nTraceback (most recent call last):\n  File "x.py", line 1'
    assert protocol.parse_raised({"type": "E", "message": message}).message == "lost the connection"


PRINTS_NAN = """\
greet(); i = read()["id"]
write(op="event", id=i, event={"type": "usage", "usage": {"input": float("nan")}})
call = {"type": "tool_call", "arguments": {"x": [1, float("nan")], "y": float("-inf")}}
write(op="result", id=i, outcome=GOOD | {"content": [call], "usage": {"output": 1e999}}); read()
"""


def test_nan_in_what_a_library_returns_is_part_of_the_answer(tmp_path):
    (answer,) = ask(builders.program(tmp_path, PRINTS_NAN))
    assert answer.outcome["content"][0]["arguments"] == {"x": [1, "NaN"], "y": "-Infinity"}
    assert answer.outcome["usage"] == {"output": None}
    assert answer.events == [{"type": "usage", "usage": {"input": None}}]
    assert answer.not_json == (
        ("outcome.content.0.arguments.x.1", "NaN"),
        ("outcome.content.0.arguments.y", "-Infinity"),
        ("outcome.usage.output", "Infinity"),
    )


INVALID = [
    (b'{"op": "result" "id": 1}', "character 17: expecting ',' delimiter, in `{"),
    (b'{"op": "' + b"x" * 500 + b'", oops}' + b"y" * 500, "character 512: expecting property name enclosed"),
    (b'{"op": "result"} {"op": "result"}', "character 18: extra data"),
    (b'{"op": "resu', "character 13: the line ends too early, in"),
    (b"Welcome!", "expected a JSON object on a line of its own, got `Welcome!`"),
]


@pytest.mark.parametrize(("line", "says"), INVALID)
def test_invalid_json_says_where_and_why(line, says):
    with pytest.raises(protocol.ProtocolError) as caught:
        protocol.parse_reply(line + b"\n")
    assert says in caught.value.message
    assert len(caught.value.message) < 400


def test_an_exception_comes_alone_or_with_the_outcome():
    head = {"op": "result", "id": "1", "raised": REPORTED}
    for valid in (head, head | {"outcome": builders.TEXT_OUTCOME}):
        assert find_problems("protocol.v1", valid, "result") == ()
    for other in ({"output": 1}, {"errored": {"message": "oh"}}, {"skipped": {"reason": "no"}}):
        assert find_problems("protocol.v1", head | other, "result")


def test_a_run_that_ends_in_an_exception_has_no_events(tmp_path):
    code = """\
greet(); i = read()["id"]
write(op="event", id=i, event=1)
write(op="result", id=i, raised={"type": "E", "message": ""}); read()
"""
    (answer,) = ask(builders.program(tmp_path, code))
    assert answer == Observation(RAISED_OUTCOME, raised=Raised("E", ""))


def test_events_on_lines_of_their_own_are_the_events(tmp_path):
    code = """\
greet(); i = read()["id"]
write(op="event", id=i, event=1); print(flush=True); write(op="event", id=i, event=2)
write(op="result", id=i, outcome=GOOD); read()
"""
    (answer,) = ask(builders.program(tmp_path, code))
    assert answer.events == [1, 2]


OUT_OF_ORDER = """\
greet(concurrency=4)
ids = [read()["id"] for _ in range(4)]
for i in reversed(ids):
    write(op="result", id=i, outcome=i)
read()
"""


def test_answers_may_come_in_any_order(tmp_path):
    answers = ask(builders.program(tmp_path, OUT_OF_ORDER), 4, at_once=True)
    assert answers == [Observation(str(i)) for i in range(1, 5)]


def test_with_several_runs_in_flight_no_run_is_blamed(tmp_path):
    """Any of them may have killed the program, so each is repeated on its own."""
    code = "greet(concurrency=4)\nfor _ in range(3): read()\nsys.exit(1)"
    assert ask(builders.program(tmp_path, code), 3, at_once=True) == [Collateral()] * 3


@pytest.mark.parametrize("code", ["while True: read()", "read(); write(op='nonsense'); read()"])
def test_a_run_that_comes_after_the_end_of_another_one_is_repeated(tmp_path, code):
    """The next run of a program that several share may begin before all of them know that it was ended."""
    first, second = ask(builders.program(tmp_path, f"greet(concurrency=4)\n{code}"), 2, seconds=0.2)
    assert isinstance(first, (Hang, ProtocolFault))
    assert second == Collateral()


def test_the_one_that_still_waits_is_blamed(tmp_path):
    code = "greet(concurrency=2); i = read()['id']; read(); write(op='result', id=i, outcome=1); sys.exit(1)"
    first, second = ask(builders.program(tmp_path, code), 2, at_once=True)
    assert first == Observation(1)
    assert isinstance(second, ProtocolFault)


def gone(pid: int) -> bool:
    """Return whether the process ends within a second, since killing takes some time."""
    until = time.monotonic() + 1
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.005)
    return not alive(pid)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = subprocess.run(("ps", "-o", "stat=", "-p", str(pid)), capture_output=True, text=True, check=False)
    return state.stdout.strip()[:1] not in ("", "Z")


CHILD = """\
import subprocess
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
greet(); i = read()["id"]
"""
ENDS = [
    ("that-answers", "write(op='result', id=i, outcome=child.pid); read()"),
    ("that-is-stubborn", "write(op='result', id=i, outcome=child.pid); time.sleep(60)"),
]


@pytest.mark.parametrize("end", [end for _, end in ENDS], ids=[id_ for id_, _ in ENDS])
def test_the_children_of_a_program_go_with_it(tmp_path, monkeypatch, end):
    monkeypatch.setattr(program_module, "STOP_SECONDS", 0.2)
    (answer,) = ask(builders.program(tmp_path, CHILD + end))
    assert gone(answer.outcome)


def test_an_exit_is_not_a_hang_even_if_a_child_holds_the_pipe(tmp_path, monkeypatch):
    monkeypatch.setattr(program_module, "STOP_SECONDS", 0.2)
    (answer,) = ask(builders.program(tmp_path, CHILD + "os._exit(3)"), seconds=0.5)
    assert answer == ProtocolFault("exited", "the program ended (exit code 3)")


def test_a_child_outside_the_group_does_not_delay_the_exit(tmp_path, monkeypatch):
    monkeypatch.setattr(program_module, "STOP_SECONDS", 0.2)
    code = CHILD.replace('sleep(60)"]', 'sleep(3)"], start_new_session=True') + "os._exit(3)"
    started = time.monotonic()
    assert isinstance(ask(builders.program(tmp_path, code), seconds=0.3)[0], ProtocolFault)
    assert time.monotonic() - started < 2


@pytest.mark.parametrize("end", [end for _, end in ENDS], ids=[id_ for id_, _ in ENDS])
def test_a_child_outside_the_group_is_killed_too(tmp_path, monkeypatch, end):
    monkeypatch.setattr(program_module, "STOP_SECONDS", 0.2)
    code = CHILD.replace('sleep(60)"]', 'sleep(60)"], start_new_session=True')
    (answer,) = ask(builders.program(tmp_path, code + end))
    assert gone(answer.outcome)


@pytest.mark.parametrize(
    "end", [*(end for _, end in ENDS), "write(op='result', id=i, outcome=child.pid); sys.exit(3)"]
)
@pytest.mark.linux
def test_a_child_without_environment_outside_the_group_is_killed_too(tmp_path, monkeypatch, end):
    monkeypatch.setattr(program_module, "STOP_SECONDS", 0.2)
    code = CHILD.replace('sleep(60)"]', 'sleep(60)"], start_new_session=True, env={}')
    (answer,) = ask(builders.program(tmp_path, code + end))
    assert gone(answer.outcome)


@pytest.mark.linux
def test_a_child_that_was_faster_than_the_mark_gets_it_too():
    mark = process_cleanup.create_mark()
    code = "import subprocess; subprocess.run(['sh', '-c', 'echo $$; read x'], env={})"
    with subprocess.Popen(
        (sys.executable, "-S", "-c", code), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as started:
        assert started.stdout is not None
        child = int(started.stdout.readline())
        process_cleanup.limit_process(started.pid, mark)
        found = process_cleanup.find_marked(mark)
        started.communicate(b"x")
    assert found == {started.pid, child}


def test_where_there_is_no_proc_the_descendants_of_a_program_are_listed():
    shell = "subprocess.run(['sh', '-c', 'echo $$; read x; :'], start_new_session=True)"
    code = f"import subprocess; {shell}"
    with subprocess.Popen(
        (sys.executable, "-S", "-c", code), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as it:
        shell = int(it.stdout.readline())
        assert shell in process_cleanup.list_descendants(it.pid)
        assert shell in process_cleanup.list_descendants(os.getpid())
        assert it.pid not in process_cleanup.list_descendants(it.pid)
        it.stdin.close()


def test_blocks_and_events_of_a_result_are_bounded(monkeypatch):
    monkeypatch.setattr(protocol, "MAX_BLOCKS", 3)
    monkeypatch.setattr(protocol, "MAX_EVENTS", 5)
    blocks = [{"type": "text", "text": ""}]

    def parse(**members):
        return protocol.parse_reply(json.dumps({"op": "result", "id": "1"} | members).encode()).answer

    assert isinstance(parse(outcome={"content": blocks * 3}, events=[{}] * 5), Observation)
    for members, kind, says in [
        (
            {"outcome": {"content": blocks * 4}},
            "too-many-blocks",
            "`outcome` has 4 content blocks, more than 3",
        ),
        (
            {"outcome": {}, "first": {"content": blocks * 4}},
            "too-many-blocks",
            "`first` has 4 content blocks",
        ),
        ({"outcome": {}, "events": [{}] * 6}, "too-many-events", "the result has 6 events, more than 5"),
    ]:
        fault = parse(**members)
        assert isinstance(fault, ProtocolFault)
        assert fault.kind == kind
        assert says in fault.message


def test_events_are_bounded_by_their_size_too(tmp_path, monkeypatch):
    monkeypatch.setattr(protocol, "MAX_LINE", 10_000)
    code = "greet(); i = read()['id']\nwhile True: write(op='event', id=i, event='x' * 1000)"
    (answer,) = ask(builders.program(tmp_path, code))
    assert isinstance(answer, ProtocolFault)
    assert answer.kind == "too-many-events"


def test_a_byte_order_mark_before_the_first_line_is_no_fault(tmp_path):
    """Programs on .NET begin their output with a byte order mark."""
    code = (
        "os.write(1, b'\\xef\\xbb\\xbf'); greet(); write(op='result', id=read()['id'], outcome=GOOD); read()"
    )
    assert ask(builders.program(tmp_path, code)) == [Observation({"status": "complete", "content": []})]


def test_nothing_of_the_expectation_is_sent(tmp_path):
    code = "greet(); write(op='result', id='1', outcome=read()); read()"
    (answer,) = ask(builders.program(tmp_path, code))
    assert set(answer.outcome) == {"op", "id", "api", "input", "request", "model", "pricing", "want"}
    assert set(answer.outcome["input"]) == {"mode", "status", "headers", "chunks"}
    assert "small" not in str(answer.outcome)
    assert "whole" not in str(answer.outcome)


LAST_WORDS = [
    ("", ""),
    ("no licence\n", "no licence"),
    ("Traceback (most recent call last):\n  File x\nKeyError: 'delta'\n", "KeyError: 'delta'"),
    ("x.mjs:3\n\nTypeError: no `text`\n    at x.mjs:3:1\n\nNode.js v20.1.0\n", "TypeError: no `text`"),
    (
        "thread 'main' panicked at src/main.rs:3:5: index 1\nnote: run with `RUST_BACKTRACE=1`\n",
        "thread 'main' panicked at src/main.rs:3:5: index 1",
    ),
    ("panic: nil map\n\ngoroutine 1 [running]:\n", "panic: nil map"),
    ('Exception in thread "main" java.lang.Oops\n\tat A.b\n', 'Exception in thread "main" java.lang.Oops'),
]


@pytest.mark.parametrize(("stderr", "described"), LAST_WORDS, ids=range(len(LAST_WORDS)))
def test_an_exit_is_described_by_the_error_and_not_by_the_lines_after_it(stderr, described):
    assert find_error_line(stderr) == described
