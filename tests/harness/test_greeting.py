"""Programs that cannot be used say why; the others state their claims."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from streamconform.adapters import idle_limit, protocol
from streamconform.adapters.connect import HOST, Connection
from streamconform.adapters.interface import Greeting
from streamconform.adapters.program import START_SECONDS, Program
from streamconform.errors import ImplementationError

from . import builders


async def greeted(
    connection: Connection,
    seconds: float = START_SECONDS,
    on_long_wait: Callable[[str], None] | None = None,
) -> Greeting:
    program = Program(connection)
    try:
        return await program.start(seconds, on_long_wait)
    finally:
        await program.stop()


CANNOT_START = [
    ("exits-at-once", "sys.exit('no module named x')", "no module named x"),
    ("exits-silently", "", "ended before it answered the greeting"),
    (
        "another-version",
        "read(); write(op='hello', protocol=2, implementation={'name': 'x'})",
        "`protocol` 2, expected 1",
    ),
    ("no-implementation", "read(); write(op='hello', protocol=1)", "`implementation` is missing"),
    ("prints-first", "print('Welcome!', flush=True); greet()", "Welcome!"),
    ("unknown-capability", "greet(capabilities=['flying'])", "flying"),
    ("a-hundred-at-once", "greet(concurrency=100)", "concurrency"),
    ("trace", "raise RuntimeError('boom')", "RuntimeError: boom"),
]


@pytest.mark.parametrize(
    ("code", "says"), [each[1:] for each in CANNOT_START], ids=[each[0] for each in CANNOT_START]
)
def test_a_program_that_cannot_be_used_says_why(tmp_path, code, says):
    with pytest.raises(ImplementationError, match=r"`cmd:program\.py` cannot be used") as caught:
        asyncio.run(greeted(builders.program(tmp_path, code)))
    assert says in str(caught.value)


@dataclass(frozen=True)
class Silence:
    """A program that does not greet in time, and the message about it."""

    id: str
    code: str
    message: str
    impl: str = "cmd:program.py"
    argv: tuple[str, ...] | None = None


FLUSH = "end the `hello` line with a newline and flush stdout, or raise `--start-timeout`"
SILENT = [
    Silence("silent", "time.sleep(9)", f"no greeting within 0.5 s; {FLUSH}"),
    Silence(
        "one-line-on-stderr",
        "sys.stderr.write('compiling dependency 7 of 120\\n'); time.sleep(9)",
        f"no greeting within 0.5 s; {FLUSH}; its stderr ends with:\n  | compiling dependency 7 of 120",
    ),
    Silence("never-idle", "while True: pass", f"no greeting within 2.5 s; {FLUSH}"),
    Silence(
        "slow-import",
        "time.sleep(9)",
        "importing `program` took longer than 0.5 s; raise `--start-timeout`",
        "python:program:adapter",
        (*HOST, "program:adapter"),
    ),
    Silence(
        "slow-import-of-a-package",
        "time.sleep(9)",
        "importing `program` took longer than 0.5 s; raise `--start-timeout`",
        "program",
        (*HOST, "program"),
    ),
    Silence(
        "peer",
        "time.sleep(9)",
        "importing `litellm` took longer than 0.5 s; raise `--start-timeout`",
        "peer:litellm",
        (sys.executable, "-S", "program.py"),
    ),
    Silence(
        "warns-and-closes-stdout",
        "sys.stderr.write('a warning\\n'); os.close(1)",
        "it ended before it answered the greeting; its stderr ends with:\n  | a warning",
    ),
]


@pytest.mark.parametrize("silence", SILENT, ids=[silence.id for silence in SILENT])
def test_a_missing_greeting_is_reported_before_stderr(tmp_path, monkeypatch, silence):
    monkeypatch.chdir(tmp_path)
    connection = builders.program(tmp_path, silence.code)
    if silence.argv is not None:
        connection = Connection(silence.impl, silence.argv)
    with pytest.raises(ImplementationError) as caught:
        asyncio.run(greeted(connection, 0.5))
    assert str(caught.value) == f"`{silence.impl}` cannot be used: {silence.message}"


def test_the_start_of_a_program_that_is_busy_is_awaited(tmp_path):
    code = "while time.process_time() < 1: pass\ngreet()"
    assert asyncio.run(greeted(builders.program(tmp_path, code), 0.7)).name == "broken"


def test_a_child_of_the_program_may_be_busy_instead(tmp_path):
    burn = "import time\nwhile time.process_time() < 1: pass"
    code = f"import subprocess; subprocess.run([sys.executable, '-c', {burn!r}])\ngreet()"
    assert asyncio.run(greeted(builders.program(tmp_path, code), 0.7)).name == "broken"


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (None, "`cmd:program.py` (idle for 0 s): waiting for the greeting; end the `hello` line"),
        ("program:adapter", "`python:program:adapter` (idle for 0 s): importing `program`"),
    ],
)
def test_a_user_is_notified_of_a_program_that_is_idle(tmp_path, monkeypatch, target, expected):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(idle_limit, "NOTICE_IDLE_SECONDS", 0.1)
    connection = builders.program(tmp_path, "time.sleep(9)")
    if target is not None:
        connection = Connection(f"python:{target}", (*HOST, target))
    notices = []
    with pytest.raises(ImplementationError):
        asyncio.run(greeted(connection, 0.5, notices.append))
    (notice,) = notices
    assert notice.startswith(expected)


def test_an_endless_greeting_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(protocol, "MAX_LINE", 1000)
    with pytest.raises(ImplementationError, match=r"its greeting line exceeds 1000 bytes"):
        asyncio.run(greeted(builders.program(tmp_path, "while True: os.write(1, b'x' * 1000)")))


@pytest.mark.parametrize("argv", [("./no-such-program",), ("/",), ("a\0b",)])
def test_a_missing_program_is_reported(argv):
    with pytest.raises(ImplementationError, match="cannot be started"):
        asyncio.run(greeted(Connection("cmd:x", argv)))


def test_an_escape_sequence_on_stderr_does_not_reach_the_terminal(tmp_path):
    with pytest.raises(ImplementationError) as caught:
        asyncio.run(greeted(builders.program(tmp_path, r"sys.exit('\x1b[2Jbad')")))
    assert "\x1b" not in str(caught.value)


def test_a_greeting_becomes_claims(tmp_path):
    code = (
        "greet(apis=['x'], inputs=['push', 'bytes'], capabilities={'x': ['usage']}, concurrency=4.0, new=1)"
    )
    greeting = asyncio.run(greeted(builders.program(tmp_path, code)))
    assert greeting == Greeting(
        name="broken",
        apis=frozenset({"x"}),
        inputs=("push", "bytes"),
        capabilities={"x": frozenset({"usage"})},
        concurrency=4,
    )
    assert type(greeting.concurrency) is int
    assert greeting.claims("x") == {"usage"}
    assert greeting.claims("y") == frozenset()
