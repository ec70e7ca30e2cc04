"""Hold a conversation with an adapter: start and greet the program, send each step, and stop it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from streamconform.adapters import protocol
from streamconform.adapters.connect import Connection
from streamconform.adapters.feed import Feed
from streamconform.adapters.idle_limit import IdleTooLongError
from streamconform.adapters.preflight import make_start_error
from streamconform.adapters.process import LineTooLongError, Process, describe_unusable
from streamconform.adapters.program import (
    ENDED_EARLY,
    START_SECONDS,
    exchange_greetings,
    explain_silence,
)
from streamconform.apis import APIS
from streamconform.errors import ImplementationError
from streamconform.model.trial import Behavior
from streamconform.replay.exchange import TrialExchange
from streamconform.replay.server import ReplayServer
from streamconform.smoke.control_checks import format_control, list_controls
from streamconform.smoke.streams import load_document, load_streams, make_script
from streamconform.smoke.transcript import (
    Message,
    SampleStream,
    StepRecord,
    Transcript,
    filter_texts,
    find_input,
    read_claims,
)

MAX_LINES: Final = 10_000
"""The maximum number of lines read per step; the streams are tiny."""
MAX_STARTS: Final = 3
"""The maximum number of times the program is started; after that, the remaining steps are not tried."""
DRAIN_SECONDS: Final = 0.3
"""How long stdout is read after the program has exited."""
STOP_SECONDS: Final = 6.0
"""How long the program may be idle before it exits. Time in which it is busy does not count: on a busy
machine, the exit of a program with a large library can take longer than this.
"""
UNKNOWN_API: Final = "telegraph"
UNKNOWN_NAME: Final = "future"
"""A name that no field or op has in any version of the protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmokeStep:
    """Runs that are sent together; the next step is sent after all of them are answered."""

    name: str
    runs: Mapping[str, SampleStream]
    """By run id."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Fields to replace or add in the run messages."""
    lines_before: tuple[bytes, ...] = ()
    """Lines to send before the runs."""
    script: Behavior | None = None
    """What the run asks the adapter to do besides reading an answer."""
    checked: bool = True
    """Whether the answers are checked; false if every answer is acceptable."""

    @property
    def checked_streams(self) -> Mapping[str, SampleStream | None]:
        """Return the stream of each run by the run's id; None if the answer is not checked."""
        return {id_: stream if self.checked else None for id_, stream in self.runs.items()}


def hold_conversation(
    connection: Connection,
    timeout: float,
    start_timeout: float = START_SECONDS,
    on_long_wait: Callable[[str], None] | None = None,
) -> Transcript:
    """Send every step to an adapter; each answer may take `timeout` seconds.

    The other arguments are those of `Program.start`.

    Raises `ImplementationError` if the program cannot be started or exits before it sends a greeting.
    """
    return asyncio.run(_Conversation(connection, timeout, start_timeout, on_long_wait).hold())


def plan_steps(hello: Mapping[str, Any]) -> Iterator[SmokeStep]:
    """Yield the steps for an adapter with the greeting `hello`; none if its input mode is unknown."""
    if find_input(hello) is None:
        return
    claims = hello.get("apis")
    apis = list(APIS) if claims is None else [api for api in filter_texts(claims) if api in APIS]
    ids = map(str, itertools.count(1))
    for api in apis:
        for stream in load_streams(api):
            yield SmokeStep(name=f"{api} {stream.name}", runs={next(ids): stream})
        if "documents" in read_claims(hello, api):
            document = load_document(api)
            yield SmokeStep(name=f"{api} {document.name}", runs={next(ids): document})
    # These steps test the protocol, which is the same for every API, so one API is enough.
    for api in itertools.islice(apis, 1):
        text, call, _ = load_streams(api)
        for stream in (text, call):
            yield SmokeStep(name=f"{stream.name} again", runs={next(ids): stream})
        for control in list_controls(hello, api):
            yield SmokeStep(
                name=f"control {format_control(control)}",
                runs={next(ids): text},
                script=make_script(api, control),
                checked=False,
            )
        yield SmokeStep(name="unknown field", runs={next(ids): text}, changes={UNKNOWN_NAME: {"n": 1}})
        if isinstance(hello.get("concurrency"), int) and hello["concurrency"] > 1:
            yield SmokeStep(name="two at once", runs={next(ids): text, next(ids): call})
        yield SmokeStep(
            name="unknown op", runs={next(ids): text}, lines_before=(_encode_line({"op": UNKNOWN_NAME}),)
        )
        yield SmokeStep(
            name="unknown api", runs={next(ids): text}, changes={"api": UNKNOWN_API}, checked=False
        )


def encode_step(step: SmokeStep, hello: Mapping[str, Any], feeds: Mapping[str, Feed]) -> Iterator[bytes]:
    """Yield the lines of `step`: the run messages, then, in `push` mode, the chunks."""
    yield from step.lines_before
    for id_, stream in step.runs.items():
        if step.script is not None:
            yield protocol.encode_request(id_, step.script, events=False, feed=feeds[id_])
            continue
        events = stream.trial.case.stream and "events" in read_claims(hello, stream.api)
        run = protocol.encode_run(id_, stream.trial, events=events, feed=feeds[id_])
        yield _encode_line({**json.loads(run), **step.changes}) if step.changes else run
    for id_, stream in step.runs.items():
        if feeds[id_].input == "push":
            yield from (protocol.encode_chunk(id_, chunk) for chunk in stream.trial.chunks)
            yield protocol.encode_eof(id_)


def _encode_line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


@dataclass(slots=True)
class _Conversation:
    """The state of a conversation: the running process, and the steps recorded so far."""

    connection: Connection
    timeout: float
    start_timeout: float
    on_long_wait: Callable[[str], None] | None
    process: Process | None = None
    starts: int = 0
    records: list[StepRecord] = field(default_factory=list)

    async def hold(self) -> Transcript:
        """Send every step and return the transcript; no process is left behind."""
        try:
            greeting = await self._start()
            hello = greeting.fields
            untried: list[str] = []
            if hello.get("op") == "hello":
                over_http = find_input(hello) == "http"
                async with ReplayServer() if over_http else contextlib.nullcontext() as server:
                    for step in plan_steps(hello):
                        if self.process is None and self.starts < MAX_STARTS:
                            await self._start()
                        if self.process is None:
                            untried.append(step.name)
                            continue
                        self.records.append(await self._run_step(step, hello, server))
            return await self._stop(greeting, tuple(untried))
        finally:
            await self._kill()

    async def _run_step(
        self, step: SmokeStep, hello: Mapping[str, Any], server: ReplayServer | None
    ) -> StepRecord:
        """Run a step; over HTTP, the server replays its streams."""
        with contextlib.ExitStack() as stack:
            mode, feeds = find_input(hello) or "bytes", dict[str, Feed]()
            exchanges, script = dict[str, TrialExchange](), None
            for id_, stream in step.runs.items():
                if server is not None and step.script is not None:
                    script = stack.enter_context(server.perform(step.script, self.timeout))
                    exchanges[id_] = script
                elif server is not None:
                    exchanges[id_] = stack.enter_context(server.exchange(stream.trial))
                feeds[id_] = Feed(mode, exchanges[id_].base_url if exchanges else None)
            record = await self._send_step(step, tuple(encode_step(step, hello, feeds)))
        # A request that the server could not match got no stream, so its outcome is meaningless.
        streams = {
            id_: None if exchanges and exchanges[id_].mismatch else stream
            for id_, stream in record.streams.items()
        }
        complaints = (exchange.complaint for id_, exchange in exchanges.items() if streams[id_] is not None)
        return replace(
            record,
            streams=streams,
            control=None if step.script is None else step.script.case.control,
            log=() if script is None else tuple(script.log),
            complaints=tuple(complaint for complaint in complaints if complaint is not None),
            mismatches=tuple(exchange.mismatch for exchange in exchanges.values() if exchange.mismatch),
        )

    async def _start(self) -> Message:
        """Start the program and return its greeting."""
        self.starts += 1
        process = self.process = Process(
            self.connection.argv, stop_seconds=STOP_SECONDS, environment=self.connection.environment
        )
        try:
            await process.start(max_line=protocol.MAX_LINE)
        except (OSError, ValueError) as error:
            raise make_start_error(self.connection, error) from error
        exit_code: int | None = None
        try:
            line = await exchange_greetings(process, self.connection, self.start_timeout, self.on_long_wait)
            if line:
                return Message(line)
            await process.wait_for_exit()
            exit_code, why = process.exit_code, ENDED_EARLY
        except IdleTooLongError as error:
            why = explain_silence(self.connection, error.seconds)
        except LineTooLongError:
            why = f"its greeting line exceeds {protocol.MAX_LINE} bytes"
        impl = self.connection.impl
        raise ImplementationError(describe_unusable(impl, why, process.stderr_tail(), exit_code=exit_code))

    async def _send_step(self, step: SmokeStep, lines: Iterable[bytes]) -> StepRecord:
        """Send the lines of `step` and read until every run is answered; kill the program if that fails."""
        output: list[Message] = []
        exit_, timed_out = None, False
        process = self.process
        assert process is not None, "a step needs a running program"
        try:
            async with asyncio.timeout(self.timeout):
                with contextlib.suppress(OSError):  # the exit is noticed by the read that follows
                    for line in lines:
                        await process.send(line)
                await self._read_answers(process, step, output)
        except TimeoutError:
            timed_out = True
            exit_ = None if process.exit_code is None else process.describe_exit()
        except LineTooLongError:
            exit_ = f"killed: a line exceeds {protocol.MAX_LINE} bytes"
        except EOFError:
            await process.wait_for_exit()
            exit_ = process.describe_exit()
        if timed_out or exit_ is not None:
            await self._kill()
        return StepRecord(
            step=step.name,
            streams=step.checked_streams,
            output=tuple(output),
            exit=exit_,
            timed_out=timed_out,
        )

    async def _read_answers(self, process: Process, step: SmokeStep, output: list[Message]) -> None:
        """Read lines into `output` until every run is answered. Raises `EOFError` if stdout ends first."""
        waiting = set(step.runs)
        while waiting:
            line = await process.read_line()
            if not line:
                raise EOFError
            output.append(Message(line))
            fields = output[-1].fields
            if fields.get("op") == "result" and isinstance(fields.get("id"), str):
                waiting.discard(fields["id"])
            if len(output) >= MAX_LINES:
                raise TimeoutError

    async def _stop(self, greeting: Message, untried: tuple[str, ...]) -> Transcript:
        """Send `stop`, read the remaining lines, and return the transcript."""
        stopped, exit_code, leftover = None, None, list[Message]()
        if self.process is not None:
            # Started before `stop`, because a program whose stdout is full cannot exit until it is read.
            reading = asyncio.create_task(_drain(self.process, leftover))
            stopped = await self.process.stop(protocol.STOP, while_busy=True)
            exit_code = self.process.exit_code
            with contextlib.suppress(TimeoutError):  # a child of the program can keep its stdout open
                await asyncio.wait_for(reading, DRAIN_SECONDS)
        return Transcript(
            impl=self.connection.impl,
            greeting=greeting,
            steps=tuple(self.records),
            leftover=tuple(leftover),
            stopped=stopped,
            exit_code=exit_code,
            timeout=self.timeout,
            untried=untried,
        )

    async def _kill(self) -> None:
        if self.process is not None:
            await self.process.kill()
            self.process = None


async def _drain(process: Process, output: list[Message]) -> None:
    with contextlib.suppress(LineTooLongError):
        while len(output) < MAX_LINES and (line := await process.read_line()):
            output.append(Message(line))
