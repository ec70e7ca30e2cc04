"""Programs that cannot be used say why; the others state their claims."""

from __future__ import annotations

import asyncio

import pytest
from streamconform.adapters import program as program_module
from streamconform.adapters import protocol
from streamconform.adapters.connect import Connection
from streamconform.adapters.interface import Greeting
from streamconform.adapters.program import Program
from streamconform.errors import ImplementationError

from . import builders


async def greeted(connection: Connection) -> Greeting:
    program = Program(connection)
    try:
        return await program.start()
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


def test_a_greeting_that_times_out_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(program_module, "HELLO_SECONDS", 0.2)
    with pytest.raises(ImplementationError, match=r"no greeting within 0\.2 s"):
        asyncio.run(greeted(builders.program(tmp_path, "time.sleep(9)")))


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
