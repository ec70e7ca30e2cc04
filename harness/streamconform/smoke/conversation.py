"""The conversation itself: a program is started, greeted, asked step by step, and stopped."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from streamconform.adapters import protocol
from streamconform.adapters.connect import Connection
from streamconform.adapters.process import LineTooLongError, Process, unusable
from streamconform.adapters.program import HELLO_SECONDS, STOP_SECONDS
from streamconform.errors import ImplementationError
from streamconform.smoke.streams import STREAMS
from streamconform.smoke.transcript import Exchange, Message, Stream, Transcript, claimed, texts

MAX_LINES: Final = 10_000
"""Lines in answer to one step; the streams are tiny."""
MAX_STARTS: Final = 3
"""Programs that are started before the rest is left untried."""
LAST_WORDS_SECONDS: Final = 0.3
"""How long lines are read that came before the end."""
UNKNOWN_API: Final = "telegraph"
FUTURE: Final = "future"
"""A name that no version of the protocol has yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What is sent together; the answers to the runs in `asked` are waited for."""

    name: str
    messages: tuple[Mapping[str, Any], ...]
    asked: Mapping[str, Stream | None]


def converse(connection: Connection, seconds: float) -> Transcript:
    """Return what an adapter says in a short conversation, each answer waited for `seconds`.

    Raises `ImplementationError` where it cannot be started or ends before it greets.
    """
    return asyncio.run(_Conversation(connection, seconds).held())


def steps(hello: Mapping[str, Any]) -> Iterator[Step]:
    """Yield what to ask of somebody who greets with `hello`; nothing where it takes no bytes."""
    if hello.get("inputs") is not None and "bytes" not in texts(hello["inputs"]):
        return
    apis = STREAMS if hello.get("apis") is None else [api for api in texts(hello["apis"]) if api in STREAMS]
    ids = map(str, itertools.count(1))
    for api in apis:
        for stream in STREAMS[api]:
            yield _step(f"{api} {stream.name}", hello, (stream,), ids)
    for api in itertools.islice(apis, 1):
        text, call, _ = STREAMS[api]
        for stream in (text, call):
            yield _step(f"{stream.name} again", hello, (stream,), ids)
        yield _step("unknown field", hello, (text,), ids, more={FUTURE: {"n": 1}})
        if isinstance(hello.get("concurrency"), int) and hello["concurrency"] > 1:
            yield _step("two at once", hello, (text, call), ids)
        after = _step("unknown op", hello, (text,), ids)
        yield Step(name=after.name, messages=({"op": FUTURE}, *after.messages), asked=after.asked)
        other = next(ids)
        message = run(other, text, hello) | {"api": UNKNOWN_API}
        yield Step(name="unknown api", messages=(message,), asked={other: None})


def run(id_: str, stream: Stream, hello: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message that asks for `stream`, a chunk a frame."""
    frames = [frame + b"\n\n" for frame in stream.body.split(b"\n\n") if frame]
    return {
        "op": "run",
        "id": id_,
        "api": stream.api,
        "input": {
            "mode": "bytes",
            "status": 200,
            "headers": {"content-type": "text/event-stream"},
            "chunks": [base64.b64encode(frame).decode() for frame in frames],
        },
        "request": {"model": "smoke-1", "stream": True},
        "model": "smoke-1",
        "pricing": {"input": "3.00", "output": "15.00"} if "cost" in claimed(hello, stream.api) else None,
        "want": ["outcome", "events"] if "events" in claimed(hello, stream.api) else ["outcome"],
    }


def _step(
    name: str,
    hello: Mapping[str, Any],
    streams: tuple[Stream, ...],
    ids: Iterator[str],
    more: Mapping[str, Any] | None = None,
) -> Step:
    asked = {next(ids): stream for stream in streams}
    return Step(
        name=name,
        messages=tuple(run(id_, stream, hello) | dict(more or {}) for id_, stream in asked.items()),
        asked=asked,
    )


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
            untried = []
            if hello.get("op") == "hello":
                for step in steps(hello):
                    if self.process is None and self.starts < MAX_STARTS:
                        await self._started()
                    if self.process is None:
                        untried.append(step.name)
                        continue
                    self.exchanges.append(await self._exchange(step))
            return await self._stopped(greeting, tuple(untried))
        finally:
            await self._gone()

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
            async with asyncio.timeout(HELLO_SECONDS):
                with contextlib.suppress(OSError):  # its end is seen when it is read
                    await process.send(protocol.hello())
                line = await process.line()
        except TimeoutError as error:
            words = unusable(impl, f"no greeting in {HELLO_SECONDS:g} s", process.stderr())
            raise ImplementationError(words) from error
        except LineTooLongError as error:
            words = f"its greeting is a line of more than {protocol.MAX_LINE} bytes"
            raise ImplementationError(unusable(impl, words, process.stderr())) from error
        if not line:
            await process.ended()
            words = unusable(impl, "it ended before it answered the greeting", process.stderr())
            raise ImplementationError(words)
        return Message(line)

    async def _exchange(self, step: Step) -> Exchange:
        """Send `step` and read until everything is answered; a program that does not is ended."""
        said: list[Message] = []
        ended, late = None, False
        process = self.process
        assert process is not None, "a step is taken with a program"
        try:
            async with asyncio.timeout(self.seconds):
                with contextlib.suppress(OSError):  # its end is seen when it is read
                    for message in step.messages:
                        await process.send(json.dumps(message).encode() + b"\n")
                await self._read(process, step, said)
        except TimeoutError:
            late = True
            ended = None if process.code is None else process.ending()
        except LineTooLongError:
            ended = f"a line of more than {protocol.MAX_LINE} bytes was read no further"
        except EOFError:
            await process.ended()
            ended = process.ending()
        if late or ended is not None:
            await self._gone()
        return Exchange(step=step.name, asked=step.asked, said=tuple(said), ended=ended, late=late)

    async def _read(self, process: Process, step: Step, said: list[Message]) -> None:
        """Read lines into `said` until every run is answered; raises `EOFError` at the end."""
        waiting = set(step.asked)
        while waiting:
            line = await process.line()
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
            code = self.process.code
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
        while len(said) < MAX_LINES and (line := await process.line()):
            said.append(Message(line))
