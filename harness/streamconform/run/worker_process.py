"""Run part of a run's trials in a fork of this process, because Python uses one core per process.

The fork inherits the trials and the settings, so that nothing is read or made twice. It gets the greetings
from this process, takes batches as this process does, and sends its results back.
"""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import signal
import socket
import struct
import time
import traceback
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from msgspec import Struct

from streamconform.adapters.interface import Greeting
from streamconform.errors import WorkerError
from streamconform.model.result import TrialResult
from streamconform.run.interruptible import run_interruptible
from streamconform.run.pool import Emit
from streamconform.system import get_context

SEND_SECONDS: Final = 0.1
"""Results that follow within this time are sent together, so that most take no system call."""
STOP_SECONDS: Final = 10.0
"""Time limit for a worker process to stop its programs and to exit."""
_SIZE: Final = struct.Struct("=Q")

Work = Callable[[Sequence[Greeting], Emit], Coroutine[Any, Any, None]]
"""Runs trials and emits their results, given the greetings of the implementations."""


class Failure(Struct, frozen=True):
    """The last message of a fork that raised an exception, which is a bug in streamconform."""

    traceback: str


class WorkerProcess:
    """A fork of this process. Messages in both directions are pickled, each preceded by its size.

    The fork sends lists of arguments for `emit` and, at the end, None or a `Failure`.
    """

    def __init__(self, work: Work, others: Sequence[WorkerProcess]) -> None:
        """Start the fork; `others` are those that were started before."""
        self.channel, theirs = socket.socketpair()
        inherited = [self.channel, *(other.channel for other in others)]
        arguments = (work, theirs, inherited)
        self._process = get_context().Process(target=_run_fork, args=arguments, daemon=True)
        self._deadline: float | None = None
        self._process.start()
        theirs.close()

    def begin(self, greetings: Sequence[Greeting]) -> None:
        """Let it take batches."""
        _send(self.channel, tuple(greetings))

    async def receive(self, emit: Emit) -> None:
        """Emit its results until it has finished.

        Raises what `emit` raises, and `WorkerError` if the process ended before that.
        """
        reader, writer = await asyncio.open_connection(sock=self.channel)
        try:
            while True:
                (size,) = _SIZE.unpack(await reader.readexactly(_SIZE.size))
                message = pickle.loads(await reader.readexactly(size))  # noqa: S301 - from our own fork
                if message is None:
                    return
                if isinstance(message, Failure):
                    raise RuntimeError(f"a worker process failed:\n{message.traceback}")  # noqa: TRY004
                for result, answer in message:
                    emit(result, answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            raise WorkerError(self._describe_end()) from None
        finally:
            writer.close()

    def interrupt(self) -> None:
        """Ask it to stop its programs and to exit."""
        self._deadline = time.monotonic() + STOP_SECONDS
        self._process.terminate()

    def close(self) -> None:
        """End it, if it has not ended; if it was interrupted, its time began then."""
        self.channel.close()
        deadline = self._deadline
        self._process.join(STOP_SECONDS if deadline is None else max(0.0, deadline - time.monotonic()))
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()

    def _describe_end(self) -> str:
        self._process.join(STOP_SECONDS)
        code = self._process.exitcode
        how = signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"
        return (
            f"a worker process ended in the middle of the run ({how}); if memory ran out, use fewer workers "
            "(`-n`); `conform run --resume` runs the remaining trials"
        )


def _run_fork(work: Work, ours: socket.socket, inherited: Sequence[socket.socket]) -> None:
    # Otherwise this process would not notice that its parent has ended.
    for each in inherited:
        each.close()
    # The parent gets Ctrl-C too, and then interrupts its worker processes.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    greetings = _receive(ours)
    if greetings is None:  # the run ended before it began
        return
    sender = _Sender(ours)
    # If the parent has ended, nothing can be sent.
    with contextlib.suppress(ConnectionError):
        try:
            run_interruptible(_end_with_parent(ours, work(greetings, sender.emit)))
        except KeyboardInterrupt:
            sender.flush()
        except BaseException:  # noqa: BLE001 - the parent reports it
            sender.flush()
            _send(ours, Failure(traceback.format_exc()))
        else:
            sender.flush()
            _send(ours, None)


async def _end_with_parent(channel: socket.socket, main: Coroutine[Any, Any, None]) -> None:
    """Run `main`; interrupt it if the parent is killed, so that no program outlives the run."""
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        loop.remove_reader(channel)
        signal.raise_signal(signal.SIGTERM)

    # The parent sends nothing after the greetings, so what can be read is the end.
    loop.add_reader(channel, interrupt)
    try:
        await main
    finally:
        loop.remove_reader(channel)


class _Sender:
    """Sends results to the parent."""

    def __init__(self, to: socket.socket) -> None:
        self._to = to
        self._held: list[tuple[TrialResult, bytes | None]] = []
        self._sent = 0.0

    def emit(self, result: TrialResult, answer: bytes | None) -> None:
        """Send the result and the saved answer, or hold them back for a moment."""
        self._held.append((result, answer))
        if time.monotonic() - self._sent >= SEND_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Send the results that are held back."""
        if self._held:
            _send(self._to, self._held)
            self._held = []
        self._sent = time.monotonic()


def _send(to: socket.socket, message: object) -> None:
    data = pickle.dumps(message)
    to.sendall(_SIZE.pack(len(data)) + data)


def _receive(source: socket.socket) -> Any:
    """Return the next message, or None at the end."""
    with source.makefile("rb") as file:
        head = file.read(_SIZE.size)
        if len(head) < _SIZE.size:
            return None
        return pickle.loads(file.read(_SIZE.unpack(head)[0]))  # noqa: S301 - from the parent process
