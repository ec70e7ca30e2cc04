"""Clients of WebSockets that use the reference, as adapters: `python:over_websocket:adapter` and `:lazy`.

wsproto makes the handshake, masks, and answers pings; the reference reads the same bytes by itself.
"""

from __future__ import annotations

import json
import socket
from urllib.parse import urlsplit

from wsproto import ConnectionType, WSConnection
from wsproto.connection import ConnectionState
from wsproto.events import CloseConnection, Ping, Request, TextMessage

from streamconform.model.case import Turn
from streamconform.run.round_trip import extend
from streamconform_reference.adapter import CAPABILITIES, build_request
from streamconform_reference.apis import DECODERS

ENDS = ("response.completed", "response.incomplete", "response.failed", "error")


class Client:
    """A connection on which several answers can be requested, one after the other."""

    answers_pings_late = False
    """Whether pings are answered only after the answer."""
    leaves_at_once = False
    """Whether the connection ends without a close frame."""

    def __init__(self, run):
        url = urlsplit(run.base_url)
        self.socket = socket.create_connection((url.hostname, url.port), timeout=5)
        self.protocol = WSConnection(ConnectionType.CLIENT)
        key = [(b"Authorization", f"Bearer {run.api_key}".encode())]
        request = Request(host=url.netloc, target=f"{url.path}/v1/responses", extra_headers=key)
        self.socket.sendall(self.protocol.send(request))
        head = b""
        while b"\r\n\r\n" not in head:
            head += self.socket.recv(1)
        self.protocol.receive_data(head)
        list(self.protocol.events())
        self.status, self.text = int(head.split()[1]), ""

    def request(self, run, message):
        """Send a message, yield the events of the answer, and return the decoder that read it."""
        self.socket.sendall(self.protocol.send(TextMessage(data=json.dumps(message))))
        decoder = DECODERS[run.api](status=self.status, pricing=run.pricing, lane=message.get("stream_id"))
        lane, has_ended, late = message.get("stream_id"), False, []
        while not has_ended:
            try:
                data = self.socket.recv(65536)
            except ConnectionError:
                data = b""
            for event in decoder.receive_data(data):
                yield event.to_json()
            has_ended = self.receive(data, lane, late)
        for event in decoder.receive_eof():
            yield event.to_json()
        if self.protocol.state is ConnectionState.OPEN:
            for event in late:
                self.socket.sendall(self.protocol.send(event.response()))
        return decoder

    def receive(self, data, lane, late):
        """Answer pings and a close frame, and return whether nothing more will come."""
        self.protocol.receive_data(data or None)
        has_ended = not data
        for event in self.protocol.events():
            match event:
                case TextMessage(data=part, message_finished=is_whole):
                    self.text += part
                    if is_whole:
                        has_ended = has_ended or ends(self.text, lane)
                        self.text = ""
                case Ping() if self.answers_pings_late:
                    late.append(event)
                case Ping():
                    self.socket.sendall(self.protocol.send(event.response()))
                case CloseConnection():
                    if data:
                        self.socket.sendall(self.protocol.send(event.response()))
                    has_ended = True
        return has_ended

    def close(self):
        if not self.leaves_at_once and self.protocol.state is ConnectionState.OPEN:
            self.socket.sendall(self.protocol.send(CloseConnection(code=1000)))
            while self.socket.recv(65536):
                pass
        self.socket.close()


def ends(text, lane):
    """Return whether an event ends the answer in `lane`."""
    try:
        event = json.loads(text)
    except ValueError:
        return True
    if event.get("stream_id") not in (None, lane):
        return False
    return event.get("type") in ENDS or ("type" not in event and "error" in event)


class LazyClient(Client):
    answers_pings_late = True
    leaves_at_once = True


def adapter(run):
    yield from talk(run, Client(run))


def lazy(run):
    yield from talk(run, LazyClient(run))


def talk(run, client):
    try:
        if run.conversation is None:
            decoder = yield from client.request(run, {"type": "response.create", **run.request})
            yield {"outcome": decoder.outcome.to_json()}
        else:
            yield {"outcome": converse(run, client)}
    finally:
        client.close()


def converse(run, client):
    """Return the outcome of the last answer of a conversation, whose requests are all on one connection."""
    conversation = run.conversation
    outcome = ask(run, client, conversation)
    for turn in run.turns or ():
        conversation = extend(conversation, outcome, Turn(turn.get("results", ()), turn.get("messages", ())))
        outcome = ask(run, client, conversation)
    return outcome


def ask(run, client, conversation):
    body = build_request(run.api, conversation)["body"]
    body.pop("stream", None)  # a field of HTTP only
    reading = client.request(run, {"type": "response.create", **body})
    while True:
        try:
            next(reading)
        except StopIteration as end:
            return end.value.outcome.to_json()


for each in (adapter, lazy):
    each.info = {"name": "reference over wsproto", "language": "python"}
    each.apis = ["openai-responses"]
    each.inputs = ["http"]
    each.capabilities = [*CAPABILITIES, "requests", "websocket"]
