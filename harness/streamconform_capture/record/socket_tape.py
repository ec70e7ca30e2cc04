"""What both sides of a WebSocket say, as one exchange per message that asks for an answer. No I/O.

An exchange ends with the next request in its lane, or with the connection: after the terminal event, a server
may still answer to steering, or begin a successor. Pings are of the connection, and are not kept.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from wsproto import ConnectionType

from streamconform.apis import APIS
from streamconform.apis.api import Api, Sockets
from streamconform.apis.payloads import Payload, read_payload
from streamconform.plural import format_count
from streamconform_capture.record.live import Cut
from streamconform_capture.record.message_reader import MessageReader
from streamconform_capture.record.overheard import Overheard, Received, detect_api

_LINE_ENDS: Final = bytes.maketrans(b"\r\n", b"  ")
"""A message may have line ends only between the tokens of its JSON, where a space means the same."""


@dataclass(slots=True, eq=False)
class _Answer:
    """An exchange that has not ended, and the time of its request."""

    exchange: Overheard
    sent_at: float


@dataclass(slots=True, eq=False)
class SocketTape:
    """The exchanges on one connection after its handshake; each is passed to `keep` when it ends."""

    handshake: Overheard
    """The request for the connection, and the headers of its answer."""
    begin: Callable[[bytes], Overheard]
    """Returns a new exchange for a request's body."""
    keep: Callable[[Overheard], None]
    received: Received
    cut: Cut = "client left"
    """Which side has ended the connection, or will, and how."""
    _client: MessageReader = field(default_factory=lambda: MessageReader(ConnectionType.SERVER))
    _server: MessageReader = field(default_factory=lambda: MessageReader(ConnectionType.CLIENT))
    _api: Api | None = field(init=False)
    _lanes: dict[str | None, _Answer] = field(default_factory=dict)
    _strays: int = 0
    """The messages of the server that answer no request, or that cannot be kept."""

    def __post_init__(self) -> None:
        """Find the API by the path of the handshake."""
        self._api = APIS.get(detect_api(self.handshake.target) or "")

    @property
    def _sockets(self) -> Sockets | None:
        return None if self._api is None else self._api.sockets

    @property
    def has_client_closed(self) -> bool:
        """Return whether the client has sent a close frame."""
        return self._client.close is not None

    def hear_client(self, data: bytes) -> None:
        """Read what the client has sent."""
        for message in self._client.receive(data):
            value = read_payload((message or "").encode())
            sockets = self._sockets
            if sockets is None or value.get("type") != sockets.request:
                continue
            body = {name: member for name, member in value.items() if name != "type"}
            lane = _read_lane(body, sockets)
            if lane in self._lanes:
                self._keep(self._lanes.pop(lane).exchange)
            text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
            self._lanes[lane] = _Answer(self.begin(text.encode(errors="surrogatepass")), time.monotonic())

    @property
    def has_server_ended(self) -> bool:
        """Return whether the server has ended its side of the connection."""
        return self.cut != "client left"

    def hear_server_end(self, cut: Cut) -> None:
        """Note how the server has ended the connection."""
        self.cut = cut

    def hear_server(self, data: bytes) -> None:
        """Read what the server has sent, and add it to the exchanges that it belongs to."""
        for message in self._server.receive(data):
            text = (message or "").encode()
            payload = read_payload(text)
            answers = self._find_answers(payload)
            if message is None or not answers:
                self._strays += 1
                continue
            for answer in answers:
                self._store(answer, text.translate(_LINE_ENDS))
                answer.exchange.is_whole |= self._is_terminal(payload)

    def end(self) -> None:
        """End the exchanges with their connection."""
        for answer in self._lanes.values():
            exchange = answer.exchange
            if exchange.status is not None and not exchange.is_whole:
                exchange.cut = exchange.cut or self.cut
                if exchange.cut != "client left":
                    self._store(answer, json.dumps(self._describe_end()).encode())
            self._keep(exchange)
        self._lanes.clear()
        if self._strays:
            failure = f"{format_count(self._strays, 'message')} that no request asked for"
            self.keep(replace(self.handshake, status=None, failure=failure))

    def _keep(self, exchange: Overheard) -> None:
        if exchange.status is None:
            exchange.failure = "the server did not answer"
        self.keep(exchange)

    def _find_answers(self, payload: Payload) -> list[_Answer]:
        """Return the exchange in a message's lane; an error without a lane ends all of them."""
        lane = None if self._sockets is None else _read_lane(payload, self._sockets)
        if lane is None and payload.get("type") == "error":
            running = [answer for answer in self._lanes.values() if not answer.exchange.is_whole]
            return running or [*self._lanes.values()][-1:]
        return [self._lanes[lane]] if lane in self._lanes else []

    def _is_terminal(self, payload: Payload) -> bool:
        return self._api is not None and self._api.ending.is_terminal(payload)

    def _store(self, answer: _Answer, line: bytes) -> None:
        exchange = answer.exchange
        if exchange.status is None:
            exchange.status, exchange.headers = self.handshake.status, self.handshake.headers
            self.received.answers += 1
        exchange.store(line + b"\n", answer.sent_at)
        self.received.bytes += len(line) + 1

    def _describe_end(self) -> dict[str, Any]:
        """Return the line that stands for the end of the connection."""
        close = self._server.close
        if close is None:
            return {"$abort": True}
        return {"$close": {"code": close.code, **({"reason": close.reason} if close.reason else {})}}


def _read_lane(message: Payload, sockets: Sockets) -> str | None:
    lane = message.get(sockets.lane)
    return lane if isinstance(lane, str) else None
