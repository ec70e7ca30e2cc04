"""Python callables of every kind, hosted by a process of their own."""

from __future__ import annotations

import asyncio
import sys

import pytest
from streamconform.adapters.adapter_input import BytesInput, Chunks
from streamconform.adapters.connect import Connection
from streamconform.adapters.host import call_adapter
from streamconform.adapters.interface import Errored, Hang, Observation, ProtocolFault
from streamconform.adapters.program import Program
from streamconform.errors import ImplementationError

from . import builders

TRIAL = builders.trial(chunks=[b"a", b"b", b"c"])
GOOD = {"status": "complete", "content": []}

ADAPTERS = """\
import os, sys, time

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

def recursion(run):
    return recursion(run)

number = 5
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("host")
    (made / "mine.py").write_text(ADAPTERS, "utf-8")
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
    """Return greeting and answers of one host for each of `names`, asked at the same time."""

    async def asked(name):
        program = Program(hosted(name if ":" in name or name == "pkg" else f"mine:{name}"))
        try:
            return await program.start(), await program.run(TRIAL, seconds, events=True)
        finally:
            await program.stop()

    async def together():
        return await asyncio.gather(*map(asked, names))

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
    said = {name: answer.message.partition(":")[0] for name, answer in answers.items()}
    assert said == {
        "exits": "SystemExit",
        "raises": "KeyError",
        "raises_midway": "ValueError",
        "forgets": "TypeError",
        "not_json": "TypeError",
        "not_a_number": "ValueError",
        "recursion": "RecursionError",
    }
    assert "mine.py" in answers["raises"].traceback


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

    for (target, says), said in zip(MISSING, asyncio.run(together()), strict=True):
        assert f"`python:{target}` cannot be used" in said
        assert says in said


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
    """Only an object without `type` is the last word of a generator."""

    def adapter(_):
        yield {"type": "x", "outcome": 1}
        yield {"outcome": 2}

    answered = call_adapter(adapter, run_of())
    assert answered.outcome == 2
    assert answered.events == [{"type": "x", "outcome": 1}]


def test_an_outcome_of_none_is_an_answer():
    assert call_adapter(lambda _: None, run_of()).outcome is None
