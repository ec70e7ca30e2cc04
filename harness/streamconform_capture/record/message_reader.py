"""Read the messages that one side of a WebSocket sends. No I/O."""

from __future__ import annotations

from wsproto import ConnectionType
from wsproto.connection import Connection, ConnectionState
from wsproto.events import BytesMessage, CloseConnection, Event, Pong, TextMessage

from streamconform_capture.record.live import MAX_BYTES


class MessageReader:
    """Joins the messages of one side of a WebSocket."""

    def __init__(self, kind: ConnectionType) -> None:
        """Read what the other kind of side sends."""
        self._frames = Connection(kind)
        self._parts: list[str] = []
        self._size = 0
        self.close: CloseConnection | None = None
        """The close frame, or the first frame that is invalid."""
        self.pongs = 0

    def receive(self, data: bytes) -> list[str | None]:
        """Return the messages that `data` ends; None stands for one that is not text, or is too large."""
        if self._frames.state is ConnectionState.CLOSED:
            return []
        self._frames.receive_data(data)
        return [message for event in self._frames.events() for message in self._receive_event(event)]

    def _receive_event(self, event: Event) -> list[str | None]:
        match event:
            case TextMessage(data=text, message_finished=is_whole):
                self._size += len(text)
                if self._size <= MAX_BYTES:
                    self._parts.append(text)
                if not is_whole:
                    return []
                message = "".join(self._parts) if self._size <= MAX_BYTES else None
                self._parts, self._size = [], 0
                return [message]
            case Pong():
                self.pongs += 1
            case BytesMessage(message_finished=True):
                return [None]
            case CloseConnection():
                self.close = self.close or event
            case _:
                pass
        return []
