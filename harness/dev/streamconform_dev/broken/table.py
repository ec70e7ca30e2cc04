"""Run each broken adapter, and write the results to docs/internals/broken-adapters.md."""

from __future__ import annotations

import io
import json
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

from streamconform.adapters import program as program_module
from streamconform.adapters.connect import Connection
from streamconform.adapters.interface import Answer, Errored, ProtocolFault, Skipped
from streamconform.adapters.program import START_SECONDS
from streamconform.errors import ImplementationError
from streamconform.model.case import Case
from streamconform.model.cassette import Authored, Cassette, Request
from streamconform.model.result import TrialResult
from streamconform.model.trial import Delivered, Trial
from streamconform.model.verdict import Check
from streamconform.reports.terminal import Terminal
from streamconform.run.answers import read_answers
from streamconform.run.plan import Settings
from streamconform.run.session import FinishedRun, Progress, RunRequest, execute_run
from streamconform.suite import expectation
from streamconform_dev.broken.clients import CLIENTS
from streamconform_dev.broken.programs import LEGAL, PYTHON, RUN, START, Broken, Part
from streamconform_dev.checkout import ROOT

TABLE = (*LEGAL, *START, *RUN, *PYTHON, *CLIENTS)
DOCUMENT = ROOT / "docs" / "internals" / "broken-adapters.md"
API = "anthropic-messages"
REQUEST = Request(
    method="POST",
    path="/v1/messages",
    headers={"content-type": "application/json"},
    body={"model": "claude-haiku-4-5", "stream": True},
)
NUMBERS = ("one", "two", "three", "four")
TIMEOUT, SHORT, SHORT_OVER_HTTP = 20.0, 0.5, 2.0
STOP_SECONDS = 0.3
PARTS: dict[Part, str] = {
    "legal": "Unusual, but legal",
    "start": "When it is started",
    "run": "In a run",
    "python": "Python adapters",
    "http": "Over HTTP",
}


@dataclass(frozen=True, slots=True)
class Happened:
    """The result for one adapter."""

    exit: str
    verdicts: tuple[str, ...]
    kind: str
    """The kind of the first missing answer; empty if there are answers to all runs."""
    reads: str
    """The message shown about it."""
    printed: str
    left: frozenset[int]
    """The processes that are still running a second later."""
    sockets: frozenset[str] = frozenset()
    """The sockets that the harness left open, including listening ones."""
    seconds: float = 0.0

    @property
    def fell_on(self) -> int:
        """The number of the first run that did not pass, or 0 if all passed."""
        return next((i for i, verdict in enumerate(self.verdicts, 1) if verdict != "pass"), 0)

    @property
    def verdict(self) -> str:
        """The verdict on that run, or the exit code if nothing was judged."""
        return self.verdicts[self.fell_on - 1] if self.verdicts and self.fell_on else self.exit or "pass"


def happens(broken: Broken) -> Happened:
    """Run four trials against `broken` with one program at a time, as `conform run -n 1` does."""
    out = io.StringIO()
    began, before = time.monotonic(), _sockets()
    with tempfile.TemporaryDirectory() as folder, _mark() as mark, _short_stop():
        connection, saved = _connection(broken, Path(folder)), Path(folder) / "answers.jsonl"
        terminal = Terminal(quiet=0, verbose=0, strict=False, stream=out)
        order = RunRequest(
            connections=(connection,),
            trials=tuple(_trial(number, broken) for number in NUMBERS),
            settings=Settings(workers=1, timeout=_timeout(broken), start_timeout=_start_timeout(broken)),
            selection={},
            blame=False,
            answers=saved,
        )
        try:
            finished = execute_run(
                order, Path(folder) / "results.jsonl", Progress(terminal.start, terminal.advance)
            )
        except ImplementationError as error:
            words = str(error).replace(f"{folder}/", "")
            return Happened(f"exit {error.exit_code}", (), "", words, words, _left(mark))
        terminal.finish(finished.results, 0.0)
        answers = [each.answer for each in read_answers(saved)]
        seen = _judged(finished, answers, out.getvalue(), _left(mark))
        return replace(seen, sockets=_sockets() - before, seconds=time.monotonic() - began)


def page(rows: Mapping[str, str]) -> str:
    """Return docs/internals/broken-adapters.md with a row for each adapter, by its id."""
    lines = [HEAD]
    for part, title in PARTS.items():
        lines += [f"## {title}", "", "| the adapter | verdict | fault | what you read |", "|---|---|---|---|"]
        lines += [rows[broken.id] for broken in TABLE if broken.part == part]
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def generate() -> dict[Path, bytes]:
    """Return the page, after running every adapter of the table."""
    return {DOCUMENT: page({broken.id: row(broken, happens(broken)) for broken in TABLE}).encode()}


def row(broken: Broken, seen: Happened) -> str:
    """Return the table row for the result of `broken`."""
    kind = f"`{seen.kind}`" if seen.kind else ""
    return f"| {broken.does} | {seen.verdict} | {kind} | {_cell(seen.reads)} |"


def _judged(finished: FinishedRun, answers: list[Answer], printed: str, left: frozenset[int]) -> Happened:
    trials = sorted(finished.results.trials, key=lambda each: NUMBERS.index(each.case.rpartition("/")[2]))
    bad = next((each for each in trials if each.verdict != "pass"), None)
    kind = next((_kind(each) for each in answers if _kind(each)), "")
    if bad is not None and (bad.reason or "").startswith("not-asked: "):
        kind = "not-asked"  # the server detects this, not the answer
    return Happened("", tuple(each.verdict for each in trials), kind, _sentence(bad, kind), printed, left)


def _sentence(result: TrialResult | None, kind: str) -> str:
    """Return the message about a result, without the kind of fault, which has a separate column."""
    if result is None:
        return ""
    words = result.reason or "; ".join(f"{check.path}: {_told(check)}" for check in result.checks)
    raised = (result.observation or {}).get("raised")
    exception = "{type}: {message}, {where}; ".format(**raised) if raised else ""
    return exception + words.removeprefix(f"{kind}: ")


def _told(check: Check) -> str:
    return check.message or f"expected {json.dumps(check.expected)}, got {json.dumps(check.got)}"


def _kind(answer: Answer) -> str:
    match answer:
        case ProtocolFault(kind):
            return kind
        case Errored():
            return "errored"
        case Skipped():
            return "skipped"
        case _:
            return ""


def _trial(number: str, broken: Broken) -> Trial:
    second = number == NUMBERS[1]
    status = broken.status if second else 200
    expect = {"status": "complete", "stop": "stop", "content": [{"text": number}]}
    if status != 200:
        expect = {"status": "error", "stop": "error", "content": []}
    chunks = [f"data: {number}\n\n".encode()]
    if second and broken.padding:
        chunks.append(b": " + b"x" * broken.padding + b"\n\n")
    cassette = Cassette(
        api=API,
        name="small",
        request=REQUEST,
        status=status,
        headers={"content-type": "text/event-stream"},
        body=b"".join(chunks),
        suffix="sse",
        marks=(),
        provenance=Authored("https://docs.example.org/stream"),
    )
    expected = expectation.parse(expect)
    case = Case(
        id=f"{API}/broken/{number}", api=API, title="A small case", cassette=cassette, expect=expected
    )
    return Trial(case, "whole", case.level, Delivered(tuple(chunks)))


def _timeout(broken: Broken) -> float:
    """Return the timeout for an answer, within which a client must have sent its request on any machine."""
    if not broken.hangs:
        return TIMEOUT
    return SHORT_OVER_HTTP if broken.part == "http" else SHORT


def _start_timeout(broken: Broken) -> float:
    """Return the timeout for the greeting, which is short if none ever comes."""
    return SHORT if broken.hangs and broken.part == "start" else START_SECONDS


def _connection(broken: Broken, folder: Path) -> Connection:
    path = folder / "broken.py"
    path.write_text(broken.program, "utf-8")
    if broken.part == "python":
        start = "import sys; sys.path.insert(0, sys.argv[1])"
        host = f"{start}; from streamconform.adapters.host import main; main('broken:adapter')"
        return Connection("python:broken:adapter", (sys.executable, "-c", host, str(folder)))
    return Connection("cmd:broken", (sys.executable, "-S", str(path)))


@contextmanager
def _short_stop() -> Iterator[None]:
    """Use short timeouts for the exit of programs."""
    with patch.object(program_module, "STOP_SECONDS", STOP_SECONDS):
        yield


@contextmanager
def _mark() -> Iterator[str]:
    """Set an environment variable that every program of this run inherits."""
    name = f"CONFORM_TEST_{secrets.token_hex(8)}"
    with patch.dict(os.environ, {name: "1"}):
        yield name


def _left(mark: str) -> frozenset[int]:
    """Return the processes with `mark` that do not end within a second, since killing takes some time."""
    until = time.monotonic() + 1
    while (found := _marked(mark)) and time.monotonic() < until:
        time.sleep(0.01)
    return found


def _marked(mark: str) -> frozenset[int]:
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if f"{mark}=".encode() in (entry / "environ").read_bytes():
                    found.add(int(entry.name))
    return frozenset(found)


def _sockets() -> frozenset[str]:
    """Return the sockets of this process."""
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            if (name := str(entry.readlink())).startswith("socket:"):
                found.add(name)
    return frozenset(found)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", "<br>").replace("  ", " ")


HEAD = f"""\
# Broken adapters

A broken adapter never stops the run. The trial's verdict shows which side was at fault. The program and all
its children are killed, a new program is started, and the other trials are judged as usual. The run ends
early, with exit code 3, only if a program cannot be started or sends no valid greeting.

Each program below answers the first, third and fourth of four runs correctly, and misbehaves in the second as
described in the table. `conform dev docs broken` runs them all and writes this page. All limits are the
real ones except the timeouts, which are {SHORT:g} s, or {SHORT_OVER_HTTP:g} s over HTTP.

Over HTTP, the program is a client and sends its requests to the server that replays the streams. The server
stops at the end of the run.

`conform smoke IMPL` finds most of these faults before a run does.
"""
