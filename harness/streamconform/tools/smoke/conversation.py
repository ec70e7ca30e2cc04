"""The conversation itself: a program is started, greeted, asked step by step, and stopped."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from streamconform.adapters import protocol
from streamconform.adapters.connect import Connection
from streamconform.adapters.feed import Feed
from streamconform.adapters.process import LineTooLongError, Process, describe_unusable
from streamconform.adapters.program import HELLO_HINT, limit_greeting
from streamconform.apis import APIS
from streamconform.errors import ImplementationError
from streamconform.replay.server import ReplayServer
from streamconform.tools.smoke.streams import streams
from streamconform.tools.smoke.transcript import Exchange, Message, Stream, Transcript, claimed, fed, texts

MAX_LINES: Final = 10_000
"""Lines in answer to one step; the streams are tiny."""
MAX_STARTS: Final = 3
"""Programs that are started before the rest is left untried."""
LAST_WORDS_SECONDS: Final = 0.3
"""How long lines are read that came before the end."""
STOP_SECONDS: Final = 6.0
"""How long its end is waited for: large libraries need more than a second on a busy machine."""
UNKNOWN_API: Final = "telegraph"
FUTURE: Final = "future"
"""A name that no version of the protocol has yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What is sent together; the answers to all its runs are waited for."""

    name: str
    runs: Mapping[str, Stream]
    """By id."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Members of the run messages that are others than usual."""
    before: tuple[bytes, ...] = ()
    """Lines that are sent first."""
    judged: bool = True
    """Whether anything is expected of the answers but that they come."""

    @property
    def asked(self) -> Mapping[str, Stream | None]:
        """Return the streams by the id of the run, None for what is not judged."""
        return {id_: stream if self.judged else None for id_, stream in self.runs.items()}


def converse(connection: Connection, seconds: float) -> Transcript:
    """Return what an adapter says in a short conversation, each answer waited for `seconds`.

    Raises `ImplementationError` where it cannot be started or ends before it greets.
    """
    return asyncio.run(_Conversation(connection, seconds).held())


def steps(hello: Mapping[str, Any]) -> Iterator[Step]:
    """Yield what to ask of somebody who greets with `hello`; nothing where nobody can feed it."""
    if fed(hello) is None:
        return
    apis = list(APIS) if hello.get("apis") is None else [api for api in texts(hello["apis"]) if api in APIS]
    ids = map(str, itertools.count(1))
    for api in apis:
        for stream in streams(api):
            yield Step(name=f"{api} {stream.name}", runs={next(ids): stream})
    for api in itertools.islice(apis, 1):
        text, call, _ = streams(api)
        for stream in (text, call):
            yield Step(name=f"{stream.name} again", runs={next(ids): stream})
        yield Step(name="unknown field", runs={next(ids): text}, changes={FUTURE: {"n": 1}})
        if isinstance(hello.get("concurrency"), int) and hello["concurrency"] > 1:
            yield Step(name="two at once", runs={next(ids): text, next(ids): call})
        yield Step(name="unknown op", runs={next(ids): text}, before=(_line({"op": FUTURE}),))
        yield Step(name="unknown api", runs={next(ids): text}, changes={"api": UNKNOWN_API}, judged=False)


def lines(step: Step, hello: Mapping[str, Any], feeds: Mapping[str, Feed]) -> Iterator[bytes]:
    """Yield what is sent for `step`: the runs, each fed as `feeds` says, and pushed chunks behind them."""
    yield from step.before
    for id_, stream in step.runs.items():
        events = "events" in claimed(hello, stream.api)
        usual = protocol.encode_run(id_, stream.trial, events=events, feed=feeds[id_])
        yield _line({**json.loads(usual), **step.changes}) if step.changes else usual
    for id_, stream in step.runs.items():
        if feeds[id_].input == "push":
            yield from (protocol.encode_chunk(id_, chunk) for chunk in stream.trial.chunks)
            yield protocol.encode_eof(id_)


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


@dataclass(slots=True)
class _Conversation:
    """The state of one: the process at work, and what was said so far."""

    connection: Connection
    seconds: float
    process: Process | None = None
    starts: int = 0
    exchanges: list[Exchange] = field(default_factory=list)

    async def held(self) -> Transcript:
        try:
            greeting = await self._started()
            hello = greeting.object
            untried: list[str] = []
            if hello.get("op") == "hello":
                over_http = fed(hello) == "http"
                async with ReplayServer() if over_http else contextlib.nullcontext() as server:
                    for step in steps(hello):
                        if self.process is None and self.starts < MAX_STARTS:
                            await self._started()
                        if self.process is None:
                            untried.append(step.name)
                            continue
                        self.exchanges.append(await self._step(step, hello, server))
            return await self._stopped(greeting, tuple(untried))
        finally:
            await self._gone()

    async def _step(self, step: Step, hello: Mapping[str, Any], server: ReplayServer | None) -> Exchange:
        """Take a step, over HTTP with the server's answers to it; what it cannot answer is not judged."""
        with contextlib.ExitStack() as stack:
            way, feeds, served = fed(hello) or "bytes", dict[str, Feed](), {}
            for id_, stream in step.runs.items():
                if server is not None:
                    served[id_] = stack.enter_context(server.exchange(stream.trial))
                feeds[id_] = Feed(way, served[id_].base_url if served else None)
            seen = await self._exchange(step, tuple(lines(step, hello, feeds)))
        asked = {id_: None if served and served[id_].mismatch else each for id_, each in seen.asked.items()}
        reasons = {id_: each.mismatch for id_, each in served.items() if each.mismatch is not None}
        told = (each.complaint for id_, each in served.items() if asked[id_] is not None)
        complaints = tuple(each for each in told if each is not None)
        return replace(seen, asked=asked, complaints=complaints, mismatches=tuple(reasons.values()))

    async def _started(self) -> Message:
        """Start a program and return its greeting."""
        impl, argv = self.connection.impl, self.connection.argv
        self.starts += 1
        process = self.process = Process(argv, stop_seconds=STOP_SECONDS)
        try:
            await process.start(max_line=protocol.MAX_LINE)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ImplementationError(f"`{impl}` cannot be started: `{argv[0]}`: {reason}") from error
        try:
            async with asyncio.timeout(limit_greeting(self.connection, self.seconds)):
                with contextlib.suppress(OSError):  # its end is seen when it is read
                    await process.send(protocol.encode_hello())
                line = await process.read_line()
        except TimeoutError as error:
            limit = limit_greeting(self.connection, self.seconds)
            words = describe_unusable(
                impl, f"no greeting in {limit:g} s; {HELLO_HINT}", process.stderr_tail()
            )
            raise ImplementationError(words) from error
        except LineTooLongError as error:
            words = f"its greeting is a line of more than {protocol.MAX_LINE} bytes"
            raise ImplementationError(describe_unusable(impl, words, process.stderr_tail())) from error
        if not line:
            await process.wait_for_exit()
            words = describe_unusable(impl, "it ended before it answered the greeting", process.stderr_tail())
            raise ImplementationError(words)
        return Message(line)

    async def _exchange(self, step: Step, sent: Iterable[bytes]) -> Exchange:
        """Send the lines of `step` and read until all is answered; a program that does not is ended."""
        said: list[Message] = []
        ended, late = None, False
        process = self.process
        assert process is not None, "a step is taken with a program"
        try:
            async with asyncio.timeout(self.seconds):
                with contextlib.suppress(OSError):  # its end is seen when it is read
                    for line in sent:
                        await process.send(line)
                await self._read(process, step, said)
        except TimeoutError:
            late = True
            ended = None if process.exit_code is None else process.describe_exit()
        except LineTooLongError:
            ended = f"a line of more than {protocol.MAX_LINE} bytes was read no further"
        except EOFError:
            await process.wait_for_exit()
            ended = process.describe_exit()
        if late or ended is not None:
            await self._gone()
        return Exchange(step=step.name, asked=step.asked, said=tuple(said), ended=ended, late=late)

    async def _read(self, process: Process, step: Step, said: list[Message]) -> None:
        """Read lines into `said` until every run is answered; raises `EOFError` at the end."""
        waiting = set(step.asked)
        while waiting:
            line = await process.read_line()
            if not line:
                raise EOFError
            said.append(Message(line))
            given = said[-1].object
            if given.get("op") == "result" and isinstance(given.get("id"), str):
                waiting.discard(given["id"])
            if len(said) >= MAX_LINES:
                raise TimeoutError

    async def _stopped(self, greeting: Message, untried: tuple[str, ...]) -> Transcript:
        """Send `stop`, read what is still said, and return the whole conversation."""
        stopped, code, leftover = None, None, list[Message]()
        if self.process is not None:
            reading = asyncio.create_task(_rest(self.process, leftover))
            stopped = await self.process.stop(protocol.STOP)
            code = self.process.exit_code
            with contextlib.suppress(TimeoutError):  # a child of the program can hold its stdout open
                await asyncio.wait_for(reading, LAST_WORDS_SECONDS)
        return Transcript(
            impl=self.connection.impl,
            greeting=greeting,
            exchanges=tuple(self.exchanges),
            leftover=tuple(leftover),
            stopped=stopped,
            code=code,
            seconds=self.seconds,
            untried=untried,
        )

    async def _gone(self) -> None:
        if self.process is not None:
            await self.process.kill()
            self.process = None


async def _rest(process: Process, said: list[Message]) -> None:
    with contextlib.suppress(LineTooLongError):
        while len(said) < MAX_LINES and (line := await process.read_line()):
            said.append(Message(line))
