"""Mutants of the HTTP client: what they do on their connections is wrong, what they read is right."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, Final, Unpack, cast

from streamconform_client.adapter import adapter_for
from streamconform_client.client import AnswerReader, AnswerRequest, HttpClient
from streamconform_reference.adapter import Adapter
from streamconform_reference.apis import DECODERS

from .registry import Bug, Named, Registry

if TYPE_CHECKING:
    import httpx


class BehaviorMutants(Registry):
    """Mutants that are clients with a bug."""

    paths = ("behavior",)

    def client(self, *apis: str, **bug: Unpack[Bug]) -> Callable[[Named], Named]:
        """Answer with the decorated class, on `apis` or on all."""

        def make(name: str, broken: Any) -> Adapter:
            return adapter_for(broken, name=f"mutant:{name}", apis=apis or DECODERS)

        return self.register(bug, make)


mutants = BehaviorMutants()

_ONE: Final = "openai-chat"
"""The API of mutants for which the server has to wait."""
_CLOSED: Final = ("**:connection.closed",)
_OUTCOME: Final = ("**:outcome", "**:outcome.**", "**:outcomes.**")


class _KeptOpen(HttpClient):
    """Keeps its connections until the program ends, as clients do that applications keep."""

    kept: Final[list[Any]] = []

    async def close(self) -> None:
        self.kept.append(self.http)


class _HeldReading(AnswerReader):
    """An answer that something else still refers to, so that nothing closes it by chance."""

    held: Final[list[Any]] = []

    def events(self) -> AsyncIterator[Any]:
        events = super().events()
        self.held.append(events)
        return events


@mutants.client(kind="connection-left-open", fails=_CLOSED)
class SocketLeaked(_KeptOpen):
    """Forgets to close the connection of an answer that it leaves."""

    def read(self, response: httpx.Response, asked: AnswerRequest) -> AnswerReader:
        return _HeldReading(response, asked)

    async def leave(self, response: httpx.Response) -> None:
        pass


@mutants.client(_ONE, kind="connection-left-open", fails=_CLOSED)
class ReadsOnAfterAnAbort(_KeptOpen):
    """Reads the answer that it leaves to its end, so that the connection can be used again."""

    def read(self, response: httpx.Response, asked: AnswerRequest) -> AnswerReader:
        return _HeldReading(response, asked)

    async def leave(self, response: httpx.Response) -> None:
        if not response.is_closed:
            async for _ in cast("AsyncIterable[bytes]", response.stream):
                pass


@mutants.client(kind="connection-left-open", fails=_CLOSED)
class RequestShielded(_KeptOpen):
    """Lets a request go on whose task has been cancelled while it waits for the first byte."""

    async def send(self, asked: AnswerRequest, attempt: int) -> httpx.Response:
        sending = asyncio.ensure_future(super().send(asked, attempt))
        # Its error is not read by anyone if it is cancelled.
        sending.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(sending)


@mutants.client(kind="connection-left-open", fails=("**:connection.not-reused", *_OUTCOME, *_CLOSED))
class LeftConnectionReused(SocketLeaked):
    """Sends the next request on the connection of an answer that it has left in the middle."""

    left: httpx.Response | None = None

    async def leave(self, response: httpx.Response) -> None:
        if not response.is_closed:
            self.left = response

    async def send(self, asked: AnswerRequest, attempt: int) -> httpx.Response:
        import httpx

        if self.left is None:
            return await super().send(asked, attempt)
        request = self.build_request(asked)
        head = [b"POST " + request.url.raw_path + b" HTTP/1.1", *map(b": ".join, request.headers.raw)]
        await self.left.extensions["network_stream"].write(b"\r\n".join([*head, b"", request.content]))
        return httpx.Response(200, headers=self.left.headers, stream=self.left.stream)


class _Restarted(AnswerReader):
    """Sends the request again when the answer breaks, and goes on with the text of the second one."""

    client: HttpClient
    asked: AnswerRequest
    earlier: Any = None

    async def events(self) -> AsyncIterator[Any]:
        async for event in super().events():
            yield event
        if self.outcome.status != "complete" and self.outcome.content:
            self.earlier = self.outcome
            second = await self.client.send(self.asked, 1)
            again = AnswerReader(second, self.asked)
            async for event in again.events():
                yield event
            self.decoder = again.decoder

    @property
    def outcome(self) -> Any:
        outcome = super().outcome
        return outcome if self.earlier is None else _Joined(self.earlier, outcome)


class _Joined:
    """Two outcomes whose contents come one after the other."""

    def __init__(self, first: Any, second: Any) -> None:
        self.status, self.content = second.status, (*first.content, *second.content)
        self._second = second

    def to_json(self) -> Any:
        return {**self._second.to_json(), "content": [block.to_json() for block in self.content]}


@mutants.client(kind="answer-asked-for-again", fails=(*_OUTCOME, "**:requests.count"))
class RetriedAfterContent(HttpClient):
    """Asks again for an answer that broke, and adds the second one to what it has handed out."""

    def read(self, response: httpx.Response, asked: AnswerRequest) -> AnswerReader:
        reading = _Restarted(response, asked)
        reading.client, reading.asked = self, asked
        return reading


@mutants.client(kind="retried-in-vain", fails=("**:requests.count", *_OUTCOME))
class RetriedEndlessly(HttpClient):
    """Retries as long as the server is overloaded, without a pause."""

    retries = 1_000_000

    def compute_wait(self, retry_after: str | None, attempt: int) -> float:
        del retry_after, attempt
        return 0.0


@mutants.client(kind="retried-in-vain", fails=("**:requests.count", *_OUTCOME))
class RetriesRejectedRequests(HttpClient):
    """Retries a request that the server has rejected."""

    def is_retried(self, status: int) -> bool:
        return status >= 400


@mutants.client(kind="retried-in-vain", fails=("**:requests.same",))
class BodyChangedOnRetry(HttpClient):
    """Writes the number of the attempt into the request."""

    async def send(self, asked: AnswerRequest, attempt: int) -> httpx.Response:
        body = {**asked.body, "metadata": {"attempt": str(attempt)}} if attempt else asked.body
        return await super().send(AnswerRequest(asked.api, asked.base_url, body, asked.model), attempt)


@mutants.client(kind="retry-after-misread", fails=(*_OUTCOME,))
class RetryAfterCrash(HttpClient):
    """Reads `retry-after` as a number, and fails if it is something else."""

    def compute_wait(self, retry_after: str | None, attempt: int) -> float:
        return super().compute_wait(None, attempt) if retry_after is None else int(retry_after) * 0.0


@mutants.client(_ONE, kind="retry-after-misread", fails=_OUTCOME)
class SleepsOnWords(HttpClient):
    """Takes a `retry-after` that it does not understand for a very long time."""

    def compute_wait(self, retry_after: str | None, attempt: int) -> float:
        return 3600.0 if (retry_after or "").isalpha() else super().compute_wait(retry_after, attempt)


@mutants.client(kind="answers-mixed", fails=_OUTCOME)
class BufferShared(HttpClient):
    """Decodes all answers of a client with the buffer of the last one."""

    last: AnswerReader | None = None

    def read(self, response: httpx.Response, asked: AnswerRequest) -> AnswerReader:
        reading = super().read(response, asked)
        if self.last is not None:
            self.last.decoder = reading.decoder
        self.last = reading
        return reading


@mutants.client(kind="answers-mixed", fails=_OUTCOME)
class DecoderKept(HttpClient):
    """Reads the next answer with the decoder of the one before."""

    decoder: Any = None

    def read(self, response: httpx.Response, asked: AnswerRequest) -> AnswerReader:
        reading = super().read(response, asked)
        reading.decoder = self.decoder = self.decoder or reading.decoder
        return reading


@mutants.client(kind="reads-ahead", fails=("**:buffer.bounded",))
class ReadsAhead(HttpClient):
    """Reads the answer in the background, into a list without a limit."""

    def read(self, response: httpx.Response, asked: AnswerRequest) -> AnswerReader:
        return _ReadAhead(response, asked)


class _ReadAhead(AnswerReader):
    async def chunks(self) -> AsyncIterator[bytes]:
        read: asyncio.Queue[bytes] = asyncio.Queue()
        task = asyncio.create_task(self._fill(read))
        try:
            while chunk := await read.get():
                yield chunk
        finally:
            task.cancel()

    async def _fill(self, read: asyncio.Queue[bytes]) -> None:
        async for chunk in super().chunks():
            await read.put(chunk)
        await read.put(b"")
