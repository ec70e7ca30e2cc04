"""Python callables of every kind, hosted in a separate process."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

import streamconform
from streamconform.adapters.adapter_input import BytesInput, Chunks
from streamconform.adapters.connect import Connection
from streamconform.adapters.exception_origin import find_library_exception
from streamconform.adapters.host import call_adapter
from streamconform.adapters.interface import Errored, Hang, Observation, ProtocolFault
from streamconform.adapters.program import Program
from streamconform.adapters.protocol import RAISED_OUTCOME
from streamconform.errors import ImplementationError
from streamconform.model.result import Raised

from . import builders

TRIAL = builders.trial(chunks=[b"a", b"b", b"c"])
GOOD = {"status": "complete", "content": []}

ADAPTERS = """\
import asyncio, datetime, json, os, sys, time
import lib

GOOD = {"status": "complete", "content": []}

def function(run):
    return GOOD

def generator(run):
    for chunk in run.chunks:
        yield {"n": len(chunk)}
    yield {"outcome": GOOD}

def eager(run):
    body = b"".join(run.chunks)
    yield {"n": len(body)}
    yield {"outcome": GOOD}

async def coroutine(run):
    return {"read": [chunk.decode() async for chunk in run.chunks]}

async def async_generator(run):
    async for chunk in run.chunks:
        yield {"n": len(chunk)}
    yield {"outcome": GOOD}

class Instance:
    info = {"name": "mine", "version": "1.2", "issues": "https://example.org"}
    apis = {"openai-chat", "anthropic-messages"}
    inputs = ["bytes"]
    capabilities = {"anthropic-messages": {"usage", "events"}}

    def __call__(self, run):
        return GOOD

instance = Instance()

def what_it_gets(run):
    return {
        "api": run.api, "status": run.status, "headers": run.headers, "request": run.request,
        "model": run.model, "pricing": run.pricing, "body": b"".join(run.chunks).decode(),
    }

def exits(run):
    sys.exit("enough")

def raises(run):
    raise KeyError("delta")

def raises_midway(run):
    yield {"n": 1}
    raise ValueError("broken")

def hangs(run):
    time.sleep(9)

def dies(run):
    os._exit(5)

def prints(run):
    print("debug")
    os.write(1, b"more")
    return GOOD

def forgets(run):
    yield {"n": 1}

def not_json(run):
    return {"status": b"bytes"}

def not_a_number(run):
    return {"status": float("nan")}

def nan_in_arguments(run):
    arguments = {"x": float("nan"), "day": [datetime.date(2026, 1, 2)]}
    call = {"type": "tool_call", "name": "f", "arguments": arguments}
    return {"status": "complete", "content": [call], "usage": {"input": float("inf"), "output": 1}}

def object_as_arguments(run):
    return {"status": "complete", "content": [{"type": "tool_call", "name": "f", "arguments": {1, 2}}]}

def recursion(run):
    return recursion(run)

def reads_json(run):
    return json.loads("{")

def library(run):
    return lib.read()

def library_in_a_generator(run):
    yield {"n": 1}
    yield {"outcome": lib.read()}

async def library_in_a_task(run):
    async with asyncio.TaskGroup() as group:
        task = group.create_task(lib.read_later())

def wraps_the_library(run):
    try:
        lib.read()
    except lib.Broken as error:
        raise RuntimeError("the stream broke") from error

def callback_of_the_library(run):
    lib.call(lambda: {}["mine"])

def extension_of_the_library(run):
    raise lib.Broken("from C")

def wrong_use_of_the_library(run):
    lib.read(1, 2, 3)

def library_json(run):
    return lib.parse()

def exits_in_the_library(run):
    lib.exit()

def catches(run):
    try:
        lib.read()
    except lib.Broken as error:
        return {"outcome": GOOD, "raised": error}

def catches_only(run):
    try:
        lib.read()
    except lib.Broken as error:
        return {"raised": error}

def describes(run):
    return {"outcome": GOOD, "raised": {"type": "E", "message": "m", "where": "a.c:1"}}

number = 5
"""


LIBRARY = """\
import json, sys

class Broken(Exception):
    pass

def read():
    try:
        raise OSError("reset")
    except OSError as error:
        raise Broken("line one\\nline two" + "x" * 9000) from error

async def read_later():
    read()

def call(function):
    return function()

def parse():
    return json.loads("{")

def exit():
    sys.exit(2)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("host")
    (made / "mine.py").write_text(ADAPTERS, "utf-8")
    (made / "lib").mkdir()
    (made / "lib" / "__init__.py").write_text(LIBRARY, "utf-8")
    (made / "pkg").mkdir()
    (made / "pkg" / "__init__.py").touch()
    (made / "pkg" / "conform.py").write_text("from mine import function as adapter\n", "utf-8")
    (made / "broken.py").write_text("import a_module_that_nobody_has\n", "utf-8")
    (made / "exits.py").write_text("import sys; sys.exit('no licence')\n", "utf-8")
    return made


@pytest.fixture(autouse=True)
def there(folder, monkeypatch):
    monkeypatch.chdir(folder)


def hosted(target: str) -> Connection:
    return Connection(f"python:{target}", (sys.executable, "-m", "streamconform.adapters.host", target))


def ask(*names: str, seconds: float = 5.0):
    """Return the greeting and answers of one host for each of `names`; all are asked at the same time."""

    async def run_host(name):
        program = Program(hosted(name if ":" in name or name == "pkg" else f"mine:{name}"))
        try:
            return await program.start(), await program.run(TRIAL, seconds, events=True)
        finally:
            await program.stop()

    async def together():
        return await asyncio.gather(*map(run_host, names))

    return asyncio.run(together())


def test_callables_of_every_kind_answer():
    names = ("function", "generator", "eager", "coroutine", "async_generator", "instance", "pkg", "prints")
    answers = dict(zip(names, (answer for _, answer in ask(*names)), strict=True))
    live = [{"n": 1}] * 3
    assert answers == {
        "function": Observation(GOOD),
        "generator": Observation(GOOD, live, (1, 2, 3)),
        "eager": Observation(GOOD, [{"n": 3}], (3,)),
        "coroutine": Observation({"read": ["a", "b", "c"]}),
        "async_generator": Observation(GOOD, live, (1, 2, 3)),
        "instance": Observation(GOOD),
        "pkg": Observation(GOOD),
        "prints": Observation(GOOD),
    }


def test_a_failing_adapter_is_reported_with_its_traceback():
    names = ("exits", "raises", "raises_midway", "forgets", "not_json", "not_a_number", "recursion")
    answers = dict(zip(names, (answer for _, answer in ask(*names)), strict=True))
    assert all(isinstance(answer, Errored) and answer.traceback for answer in answers.values()), answers
    messages = {name: answer.message.partition(":")[0] for name, answer in answers.items()}
    assert messages == {
        "exits": "SystemExit",
        "raises": "KeyError",
        "raises_midway": "ValueError",
        "forgets": "TypeError",
        "not_json": "NonJsonError",
        "not_a_number": "NonJsonError",
        "recursion": "RecursionError",
    }
    assert "mine.py" in answers["raises"].traceback


BROKEN = Raised(
    "lib.Broken", "line one\\nline two" + "x" * 468 + " (from OSError)", "lib/__init__.py:10 in read"
)


def test_an_exception_of_the_library_is_part_of_the_observation():
    names = ("library", "library_in_a_generator", "library_in_a_task", "wraps_the_library", "catches_only")
    for _, answer in ask(*names):
        assert answer == Observation(RAISED_OUTCOME, raised=BROKEN)


def test_what_else_counts_as_raised_by_the_library():
    names = ("library_json", "extension_of_the_library", "exits_in_the_library")
    parse, extension, ends = (answer.raised for _, answer in ask(*names))
    assert (parse.type, parse.where) == ("json.JSONDecodeError", "lib/__init__.py:19 in parse")
    assert extension == Raised("lib.Broken", "from C", None)
    assert ends == Raised("SystemExit", "2", "lib/__init__.py:22 in exit")


@pytest.mark.parametrize(
    ("file", "is_library"), [("../streamconform_client/decode.py", True), ("adapters/host.py", False)]
)
def test_a_package_whose_name_begins_like_that_of_the_harness_is_a_library(file, is_library):
    # As with an installed wheel, both packages are in the same folder.
    path = os.path.normpath(Path(streamconform.__file__).parent / file)
    names = {}
    exec(compile("def decode(): raise ValueError('no')", path, "exec"), names)  # noqa: S102 - our own code

    def adapter(_):
        names["decode"]()

    with pytest.raises(ValueError, match="no") as caught:
        adapter(None)
    assert (find_library_exception(caught.value, adapter, over_http=False) is not None) == is_library


def test_an_exception_of_the_adapter_is_its_own_fault():
    names = ("reads_json", "callback_of_the_library", "wrong_use_of_the_library", "object_as_arguments")
    answers = [answer for _, answer in ask(*names)]
    assert all(isinstance(answer, Errored) for answer in answers), answers
    says = "outcome.content.0.arguments is a `set`, which JSON cannot represent; convert it in the adapter"
    assert answers[3].message == f"NonJsonError: {says}"


def test_an_adapter_may_report_what_it_caught():
    (_, caught), (_, described) = ask("catches", "describes")
    assert caught == Observation(GOOD, raised=BROKEN)
    assert described == Observation(GOOD, raised=Raised("E", "m", "a.c:1"))


def test_values_that_json_does_not_have_are_reported_with_their_path():
    ((_, answer),) = ask("nan_in_arguments")
    assert answer.outcome["content"][0]["arguments"] == {
        "x": "NaN",
        "day": ["date: datetime.date(2026, 1, 2)"],
    }
    assert answer.outcome["usage"] == {"input": None, "output": 1}
    assert answer.not_json == (
        ("outcome.content.0.arguments.x", "NaN"),
        ("outcome.content.0.arguments.day.0", "date: datetime.date(2026, 1, 2)"),
        ("outcome.usage.input", "Infinity"),
    )


def test_over_http_a_network_error_of_the_standard_library_is_the_client_s():
    def fetch(_):
        raise ConnectionResetError("reset")

    def read_file(_):
        Path("no such file").read_bytes()

    def decline(_):
        raise NotImplementedError("the library has no custom tools")

    for adapter, found in ((fetch, True), (read_file, False), (decline, True)):
        with pytest.raises((ConnectionResetError, FileNotFoundError, NotImplementedError)) as caught:
            adapter(None)
        assert (find_library_exception(caught.value, adapter, over_http=True) is not None) == found
        assert find_library_exception(caught.value, adapter, over_http=False) is None


def test_an_adapter_that_ends_the_process_is_reported():
    ((_, died), (_, hung)) = ask("dies", "hangs", seconds=0.5)
    assert died == ProtocolFault("exited", "the program ended (exit code 5)")
    assert hung == Hang(0.5)


def test_an_adapter_gets_the_input_of_a_client():
    ((greeting, answer),) = ask("what_it_gets")
    assert greeting.capabilities is None
    assert greeting.name == "mine"
    assert answer.outcome == {
        "api": "anthropic-messages",
        "status": 200,
        "headers": {"content-type": "text/event-stream"},
        "request": {"model": "claude-haiku-4-5", "stream": True},
        "model": "claude-haiku-4-5",
        "pricing": None,
        "body": "abc",
    }


def test_attributes_become_claims():
    ((greeting, _),) = ask("instance")
    assert (greeting.name, greeting.version, greeting.language) == ("mine", "1.2", "python")
    assert greeting.issues == "https://example.org"
    assert greeting.apis == {"openai-chat", "anthropic-messages"}
    assert greeting.claims("anthropic-messages") == {"usage", "events"}
    assert greeting.claims("openai-chat") == frozenset()


MISSING = [
    ("no_such_package", "no module `no_such_package`: install it in this environment"),
    ("pkg.sub:adapter", "no module `pkg.sub`"),
    ("mine:nothing", "module `mine` has no `nothing`"),
    ("mine:number", "`mine:number` is not callable"),
    ("broken:adapter", "a_module_that_nobody_has"),
    ("exits:adapter", "no licence"),
]


def test_a_missing_target_is_an_error_with_the_fix():
    async def started(target):
        with pytest.raises(ImplementationError) as caught:
            await Program(hosted(target)).start()
        return str(caught.value)

    async def together():
        return await asyncio.gather(*(started(target) for target, _ in MISSING))

    for (target, says), messages in zip(MISSING, asyncio.run(together()), strict=True):
        assert f"`python:{target}` cannot be used" in messages
        assert says in messages


def run_of(*chunks: bytes) -> BytesInput:
    return BytesInput("x", 200, {}, Chunks(list(chunks)))


def test_chunks_are_read_once_and_lazily():
    chunks = Chunks([b"1", b"2", b"3"])
    assert chunks.taken == 0
    assert next(iter(chunks)) == b"1"
    assert chunks.taken == 1
    assert list(chunks) == [b"2", b"3"]
    assert list(chunks) == []


def test_async_code_that_reads_chunks_lets_other_tasks_run():
    turns = []

    async def reader(run):
        async for _ in run.chunks:
            turns.append("read")  # noqa: PERF401 - the other task is to be seen in between
        await other
        return {}

    async def other_task():
        turns.append("other")

    async def both(run):
        global other  # noqa: PLW0603 - the reader waits for it
        other = asyncio.ensure_future(other_task())
        return await reader(run)

    call_adapter(both, run_of(b"1", b"2"))
    assert turns.index("other") < len(turns) - 1


def test_an_event_named_outcome_is_no_outcome():
    """Only an object without `type` is the final value of a generator."""

    def adapter(_):
        yield {"type": "x", "outcome": 1}
        yield {"outcome": 2}

    answered = call_adapter(adapter, run_of())
    assert answered.outcome == 2
    assert answered.events == [{"type": "x", "outcome": 1}]


def test_an_outcome_of_none_is_an_answer():
    assert call_adapter(lambda _: None, run_of()).outcome is None
