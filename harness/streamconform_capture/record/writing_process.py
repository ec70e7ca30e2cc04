"""A process that writes the exchanges of `listen`.

Python runs one thread at a time, and a search in a long answer does not let another thread run until it ends,
which takes up to seconds. In this process, it would delay every stream, and Ctrl-C.
"""

from __future__ import annotations

import signal
import traceback
from multiprocessing.connection import Connection

from streamconform.errors import WorkerError
from streamconform.system import get_context
from streamconform_capture.record.listened import (
    KeptExchange,
    ListenSettings,
    NotKept,
    Streams,
    keep_exchange,
)
from streamconform_capture.record.overheard import Overheard


class WritingProcess:
    """Writes exchanges one at a time; it ends with this process, or when it is killed."""

    def __init__(self, settings: ListenSettings) -> None:
        """Start the process."""
        context = get_context()
        self._channel, theirs = context.Pipe()
        arguments = (theirs, self._channel, settings)
        self._process = context.Process(target=_write_exchanges, args=arguments, daemon=True)
        self._process.start()
        theirs.close()

    def keep(self, exchange: Overheard) -> KeptExchange | NotKept:
        """Do the same as `keep_exchange`, in the process. Raises `WorkerError` if it has ended."""
        try:
            self._channel.send(exchange)
            result: KeptExchange | NotKept | Exception = self._channel.recv()
        except (EOFError, OSError) as error:
            raise WorkerError("the process that writes the exchanges has ended") from error
        if isinstance(result, Exception):
            raise result
        return result

    def kill(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.join()


def _write_exchanges(channel: Connection, other_end: Connection, settings: ListenSettings) -> None:
    """Write what arrives until the channel ends, and answer with the result or the exception."""
    # Ctrl-C reaches every process of the terminal, but the parent decides how long to wait.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    other_end.close()  # else this process would keep its own channel open
    streams: Streams = {}
    while True:
        try:
            exchange = channel.recv()
        except EOFError:
            return
        try:
            result: KeptExchange | NotKept | Exception = keep_exchange(exchange, settings, streams)
        except Exception as error:  # noqa: BLE001 - raised by `keep`
            error.add_note(traceback.format_exc())
            result = error
        channel.send(result)
