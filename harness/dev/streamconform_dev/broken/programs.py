"""Adapters that misbehave, in a few lines each, and some that only seem to.

Each gets four runs, numbered from one. It misbehaves in the second, in the function `broken`, and answers the
others correctly, so that the effects around a fault are tested too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Part = Literal["legal", "start", "run", "python", "http"]

PRELUDE = """\
import base64, json, os, sys, time

def read():
    line = sys.stdin.readline()
    return json.loads(line) if line else {"op": "stop"}

def put(data):
    while data:
        data = data[os.write(1, data):]

def write(**message):
    put(json.dumps(message).encode() + b"\\n")

def greet(**more):
    read()
    write(op="hello", protocol=1, implementation={"name": "broken"}, **{"capabilities": [], **more})

def outcome(message):
    body = b"".join(map(base64.b64decode, message["input"]["chunks"]))
    text = body.decode().split()[1]
    return {"status": "complete", "stop": {"reason": "stop"}, "content": [{"type": "text", "text": text}]}

def answer(message, **more):
    write(op="result", id=message["id"], outcome=outcome(message), **more)

def child(seconds=60, **how):
    import subprocess
    sleep = "import time; time.sleep(%d)" % seconds
    return subprocess.Popen([sys.executable, "-S", "-c", sleep], **how)

def serve(broken, **more):
    greet(**more)
    while (message := read())["op"] == "run":
        second = outcome(message)["content"][0]["text"] == "two"
        (broken if second else answer)(message)

"""


@dataclass(frozen=True, slots=True)
class Broken:
    """One adapter. If its code has no function `broken`, it is the complete program."""

    id: str
    does: str
    code: str
    verdict: str
    """The verdict of the faulty run or, for part `start`, the exit of the command."""
    kind: str = ""
    falls_on: int = 2
    """The number of the faulty run; 0 if there is none."""
    part: Part = "run"
    hangs: bool = False
    """Whether its timeout is short."""
    padding: int = 0
    """The size of a comment in its second stream, which exceeds the buffers of a connection."""
    status: int = 200
    """The text of the answer in its second stream."""

    @property
    def program(self) -> str:
        """The source code of the program."""
        if self.part == "python":
            return self.code
        ends = "serve(broken)\n" if "def broken(" in self.code and "serve(" not in self.code else ""
        return f"{PRELUDE}{self.code}\n{ends}"


def legal(id_: str, does: str, code: str) -> Broken:
    """Return a program that does something unusual, and passes."""
    return Broken(id_, does, code, "pass", falls_on=0, part="legal")


def start(id_: str, does: str, code: str, *, hangs: bool = False) -> Broken:
    """Return a program that cannot be started."""
    return Broken(id_, does, code, "exit 3", part="start", hangs=hangs)


def faulted(id_: str, does: str, code: str, kind: str, *, falls_on: int = 2) -> Broken:
    """Return a program that violates the protocol."""
    return Broken(id_, does, code, "faulted", kind, falls_on)


def hang(id_: str, does: str, code: str) -> Broken:
    """Return a program that does not answer in time."""
    return Broken(id_, does, code, "hang", hangs=True)


def python(id_: str, does: str, line: str, verdict: str, kind: str = "") -> Broken:
    """Return a Python adapter that runs `line` in the second run."""
    code = f"""\
import os, sys, time

def adapter(run):
    text = b"".join(run.chunks).decode().split()[1]
    if text == "two":
        {line}
    content = [{{"type": "text", "text": text}}]
    return {{"status": "complete", "stop": {{"reason": "stop"}}, "content": content}}

adapter.capabilities = []
"""
    return Broken(id_, does, code, verdict, kind, part="python", hangs=verdict == "hang")


LEGAL = (
    legal(
        "answers-out-of-order",
        "claims `concurrency` 4 and answers four runs in reverse order",
        "greet(concurrency=4)\nfor message in reversed([read() for _ in range(4)]): answer(message)\nread()",
    ),
    legal(
        "splits-its-writes",
        "writes a line in many pieces",
        """\
def broken(message):
    line = json.dumps({"op": "result", "id": message["id"], "outcome": outcome(message)}) + "\\n"
    for piece in line.encode(): put(bytes([piece]))""",
    ),
    legal(
        "blank-lines",
        "ends lines with CR LF, and writes blank lines",
        """\
def broken(message):
    line = json.dumps({"op": "result", "id": message["id"], "outcome": outcome(message)})
    put(b"\\r\\n\\n" + line.encode() + b"\\r\\n\\n")""",
    ),
    legal(
        "byte-order-mark",
        "begins its output with a byte order mark",
        "put(b'\\xef\\xbb\\xbf'); serve(answer)",
    ),
    legal(
        "unknown-fields",
        "sends unknown fields",
        "def broken(message): answer(message, future={'n': 1})",
    ),
    legal(
        "floods-stderr",
        "writes 10 MB to stderr before it answers",
        "def broken(message): [sys.stderr.write('x' * 1_000_000) for _ in range(10)]; answer(message)",
    ),
    legal(
        "ignores-stop-and-sigterm",
        "ignores `stop`, the end of its input, and SIGTERM",
        "import signal; signal.signal(15, signal.SIG_IGN); serve(answer); time.sleep(60)",
    ),
    legal(
        "leaves-a-child",
        "leaves a child that keeps its stdout open",
        "def broken(message): child(); answer(message)",
    ),
    legal(
        "leaves-a-child-in-a-session-of-its-own",
        "leaves a child in a separate session",
        "def broken(message): child(start_new_session=True); answer(message)",
    ),
)

START = (
    start("exits-at-once", "exits immediately", "sys.exit()"),
    start(
        "exits-at-once-and-says-why", "exits immediately, with the reason on stderr", "sys.exit('no licence')"
    ),
    start("raises-at-once", "raises immediately", "import a_module_that_nobody_has"),
    start("never-greets", "never answers the greeting", "time.sleep(60)", hangs=True),
    start("prints-a-banner", "prints a banner first", "print('Welcome!', flush=True); serve(answer)"),
    start(
        "refuses-the-version",
        "speaks a different version of the protocol",
        "read(); write(op='hello', protocol=2, implementation={'name': 'broken'}); read()",
    ),
    start(
        "says-no-name",
        "greets without a name",
        "read(); write(op='hello', protocol=1, implementation={}); read()",
    ),
    start(
        "claims-what-nobody-knows", "claims a capability that does not exist", "greet(capabilities=['tools'])"
    ),
    start("greets-without-end", "never ends the line of its greeting", "while True: put(b'x' * 1_000_000)"),
)

RUN = (
    hang("never-answers", "never answers", "def broken(message): time.sleep(60)"),
    hang(
        "ignores-sigterm",
        "never answers, and ignores SIGTERM",
        "import signal; signal.signal(15, signal.SIG_IGN)\ndef broken(message): time.sleep(60)",
    ),
    hang(
        "closes-stdin",
        "closes its stdin",
        "def broken(message): sys.stdin.close(); os.close(0); time.sleep(60)",
    ),
    hang(
        "sends-small-events-without-end",
        "sends small events endlessly",
        "def broken(message):\n    while True: write(op='event', id=message['id'], event={'type': 'usage'})",
    ),
    hang(
        "floods-stderr-for-ever",
        "writes to stderr endlessly",
        "def broken(message):\n    while True: sys.stderr.write('x' * 10_000)",
    ),
    faulted(
        "sends-events-without-end",
        "sends large events endlessly",
        "def broken(message):\n    while True: write(op='event', id=message['id'], event='x' * 1_000_000)",
        "too-many-events",
    ),
    faulted(
        "returns-a-block-per-byte",
        "returns 100,001 content blocks",
        "def broken(message):\n"
        "    blocks = [{'type': 'text', 'text': 'x'}] * 100_001\n"
        "    write(op='result', id=message['id'], outcome={'status': 'complete', 'content': blocks})",
        "too-many-blocks",
    ),
    faulted("exits", "exits with code 7", "def broken(message): sys.exit(7)", "exited"),
    faulted("exits-with-0", "exits with code 0 during a run", "def broken(message): sys.exit()", "exited"),
    faulted("raises", "raises", "def broken(message): {}['delta']", "exited"),
    faulted("is-killed", "is killed by a signal", "def broken(message): os.kill(os.getpid(), 9)", "exited"),
    faulted(
        "closes-stdout", "closes its stdout", "def broken(message): os.close(1); time.sleep(60)", "exited"
    ),
    Broken(
        "dies-and-its-child-holds-stdout",
        "exits while a child keeps its stdout open",
        "def broken(message): child(); os._exit(3)",
        "faulted",
        "exited",
        hangs=True,
    ),
    Broken(
        "dies-and-its-child-has-a-session",
        "exits while a child in a separate session keeps its stdout open",
        "def broken(message): child(start_new_session=True); os._exit(3)",
        "faulted",
        "exited",
        hangs=True,
    ),
    faulted(
        "prints",
        "prints a stray line",
        "def broken(message): print('got', 1, flush=True); answer(message)",
        "not-json",
    ),
    faulted("prints-a-list", "prints a list", "def broken(message): print('[1, 2]', flush=True)", "not-json"),
    faulted(
        "prints-nothing-but-escapes",
        "prints escape sequences that move a terminal's cursor",
        "def broken(message): print('\\x1b[2Jready', flush=True)",
        "not-json",
    ),
    faulted(
        "half-a-line",
        "exits in the middle of a line",
        'def broken(message): put(b\'{"op": "resu\'); sys.exit()',
        "exited",
    ),
    faulted(
        "not-utf-8",
        "writes bytes that are not UTF-8",
        'def broken(message): put(b\'{"op": "\\xff\\xfe"}\\n\')',
        "not-json",
    ),
    faulted(
        "nan",
        "answers with NaN",
        "def broken(message): write(op='result', id=message['id'], outcome={'usage': float('nan')})",
        "not-json",
    ),
    faulted(
        "infinity",
        "answers with Infinity",
        "def broken(message): write(op='result', id=message['id'], outcome={'usage': float('inf')})",
        "not-json",
    ),
    faulted(
        "beyond-a-double",
        "answers with a number that does not fit in a double",
        """\
def broken(message):
    put(b'{"op": "result", "id": "%s", "outcome": 1e999}\\n' % message['id'].encode())""",
        "not-json",
    ),
    faulted(
        "nests-deep",
        "nests 10,000 brackets",
        "def broken(message): put(b'[' * 10_000 + b']' * 10_000 + b'\\n')",
        "too-deep",
    ),
    faulted(
        "huge-line",
        "writes a line of 70 MB",
        "def broken(message): put(b'x' * 70_000_000 + b'\\n')",
        "line-too-long",
    ),
    faulted(
        "line-without-end",
        "never ends a line",
        "def broken(message):\n    while True: put(b'x' * 1_000_000)",
        "line-too-long",
    ),
    faulted(
        "wrong-id",
        "answers with a wrong id",
        "def broken(message): answer({**message, 'id': 'seven'})",
        "unknown-id",
    ),
    faulted(
        "answers-what-nobody-asked",
        "answers a run that was never requested, before the real one",
        "def broken(message): answer({**message, 'id': '99'}); answer(message)",
        "unknown-id",
    ),
    faulted(
        "number-as-id",
        "sends the id back as a number",
        "def broken(message): answer({**message, 'id': int(message['id'])})",
        "not-a-message",
    ),
    faulted(
        "no-id",
        "answers without an id",
        "def broken(message): write(op='result', outcome=outcome(message))",
        "not-a-message",
    ),
    faulted(
        "wrong-op",
        "answers with a wrong `op`",
        "def broken(message): write(op='answer', id=message['id'])",
        "not-a-message",
    ),
    faulted(
        "empty-result",
        "answers with an empty result",
        "def broken(message): write(op='result', id=message['id'])",
        "not-a-message",
    ),
    faulted(
        "answers-twice",
        "answers twice",
        "def broken(message): answer(message); answer(message)",
        "answered-twice",
        falls_on=3,
    ),
    faulted(
        "says-that-it-failed",
        "reports its own failure",
        "def broken(message): write(op='result', id=message['id'], errored={'message': 'KeyError: delta'})",
        "errored",
    ),
    Broken(
        "skips-what-it-claims",
        "skips a run that it claims to support",
        "def broken(message): write(op='result', id=message['id'], skipped={'reason': 'no mood'})",
        "fail",
        "skipped",
    ),
    Broken(
        "not-the-normal-form",
        "answers in an unknown form",
        "def broken(message): write(op='result', id=message['id'], outcome={'status': 'done'})",
        "fail",
    ),
    Broken(
        "half-a-surrogate-pair",
        "answers with half of a surrogate pair",
        'def broken(message): put(b\'{"op": "result", "id": "%s", "outcome": {"status": "complete", '
        '"content": [{"type": "text", "text": "\\\\ud83c"}]}}\\n\' % message[\'id\'].encode())',
        "fail",
    ),
    Broken(
        "ends-with-several-in-flight",
        "exits during several runs, because of one of them",
        """\
greet(concurrency=4)
while (message := read())["op"] == "run":
    if outcome(message)["content"][0]["text"] == "two": sys.exit(7)
    answer(message)""",
        "faulted",
        "exited",
    ),
)

PYTHON = (
    python("python-raises", "a Python adapter that raises", "raise KeyError('delta')", "faulted", "errored"),
    python(
        "python-exits", "a Python adapter that calls `sys.exit`", "sys.exit('enough')", "faulted", "errored"
    ),
    python("python-dies", "a Python adapter that crashes the interpreter", "os.abort()", "faulted", "exited"),
    python("python-hangs", "a Python adapter that never returns", "time.sleep(60)", "hang"),
    python(
        "python-returns-nan",
        "a Python adapter that returns NaN",
        "return {'status': float('nan')}",
        "faulted",
        "errored",
    ),
    python(
        "python-library-raises",
        "a Python adapter whose library raises",
        """exec(compile("raise KeyError('delta')", "lib/read.py", "exec"), {"__name__": "lib.read"})""",
        "fail",
    ),
    python("python-returns-nothing", "a Python adapter that returns None", "return None", "fail"),
    python("python-prints", "a Python adapter that prints", "print('debug'); os.write(1, b'more')", "pass"),
)
