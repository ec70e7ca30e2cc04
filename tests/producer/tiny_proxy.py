"""A translating proxy in a hundred lines, Anthropic Messages to Ollama, and ways in which it is broken."""

from __future__ import annotations

import http.client
import json
import socketserver
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Thread
from typing import Any

Json = dict[str, Any]
STOPS = {"length": "max_tokens"}


@dataclass
class Writer:
    """Records in, events out."""

    broken: frozenset[str]
    index: int = -1
    open: str | None = None
    calls: int = 0
    ended: bool = False
    ids: Iterator[int] = field(default_factory=lambda: count(1))

    def start(self) -> Iterator[Json]:
        usage = {"input_tokens": 0, "output_tokens": 0}
        head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
        yield {
            "type": "message_start",
            "message": head | {"stop_reason": None, "stop_sequence": None, "usage": usage},
        }

    def record(self, record: Json) -> Iterator[Json]:
        if "error" in record:
            if "error swallowed" in self.broken:
                yield from self.done({})
            else:
                yield from self.failed(str(record["error"]))
            return
        message = record.get("message") or {}
        if message.get("thinking") and "thinking lost" not in self.broken:
            yield from self.delta("thinking", "thinking", message["thinking"])
        if message.get("content"):
            yield from self.delta("text", "text", message["content"])
        for call in message.get("tool_calls") or ():
            self.calls += 1
            if self.calls == 1 or "second call dropped" not in self.broken:
                yield from self.call(call["function"])
        if record.get("done"):
            yield from self.done(record)

    def delta(self, block: str, name: str, text: str) -> Iterator[Json]:
        if self.open != block:
            yield from self.close()
            yield self.begin(
                block, {"type": block, name: "", **({"signature": ""} if block == "thinking" else {})}
            )
        delta = {"type": f"{block}_delta", name: text}
        yield {"type": "content_block_delta", "index": self.index, "delta": delta}

    def call(self, function: Json) -> Iterator[Json]:
        yield from self.close()
        start = {"type": "tool_use", "id": f"toolu_{next(self.ids)}", "name": function["name"], "input": {}}
        yield self.begin("tool_use", start)
        arguments = function.get("arguments") or {}
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        if "arguments twice" in self.broken:
            text = json.dumps(text)
        delta = {"type": "input_json_delta", "partial_json": text}
        yield {"type": "content_block_delta", "index": self.index, "delta": delta}
        yield from self.close()

    def begin(self, block: str, start: Json) -> Json:
        if "wrong index" not in self.broken or self.index < 0:
            self.index += 1
        self.open = block
        return {"type": "content_block_start", "index": self.index, "content_block": start}

    def close(self) -> Iterator[Json]:
        if self.open:
            self.open = None
            yield {"type": "content_block_stop", "index": self.index}

    def done(self, record: Json) -> Iterator[Json]:
        yield from self.close()
        self.ended = True
        usage = {
            "input_tokens": record.get("prompt_eval_count", 0),
            "output_tokens": record.get("eval_count", 0),
        }
        usual = "tool_use" if self.calls and "calls hidden" not in self.broken else "end_turn"
        stop = STOPS.get(str(record.get("done_reason")), usual)
        yield {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage}
        yield {"type": "message_stop"}

    def failed(self, words: str) -> Iterator[Json]:
        self.ended = True
        yield {"type": "error", "error": {"type": "api_error", "message": words}}

    def end(self) -> Iterator[Json]:
        if not self.ended:
            yield from (
                self.done({}) if "end_turn after a cut" in self.broken else self.failed("the upstream went")
            )


def asked(body: Json) -> Json:
    messages = [{"role": each["role"], "content": _text(each["content"])} for each in body["messages"]]
    tools = [
        {"type": "function", "function": {"name": each["name"], "parameters": each["input_schema"]}}
        for each in body.get("tools", ())
    ]
    return {
        "model": body["model"],
        "messages": messages,
        "think": True,
        **({"tools": tools} if tools else {}),
    }


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(each["text"] for each in content)


def handler(upstream: int, broken: frozenset[str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            connection = http.client.HTTPConnection("127.0.0.1", upstream, timeout=10)
            asking = asked(body) | ({"tools": []} if "tools forgotten" in broken else {})
            connection.request("POST", "/api/chat", json.dumps(asking))
            answer = connection.getresponse()
            if answer.status != 200:
                self.refuse(answer.status, answer.read())
            elif "whole at once" in broken:
                self.stream([b"".join(self.events(answer))])
            else:
                self.stream(self.events(answer))
            connection.close()

        def refuse(self, status: int, told: bytes) -> None:
            words = told.decode("utf-8", "replace") or "nothing"
            error = {"type": "error", "error": {"type": "api_error", "message": words}}
            document = b"oops" if "refusal without a document" in broken else json.dumps(error).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(document)))
            self.end_headers()
            self.wfile.write(document)

        def events(self, answer: http.client.HTTPResponse) -> Iterator[bytes]:
            writer = Writer(broken)
            yield from map(event, writer.start())
            try:
                for line in answer:
                    if line.strip():
                        yield from map(event, writer.record(json.loads(line)))
                    if writer.ended:
                        break
            except (http.client.HTTPException, OSError, ValueError, TypeError, AttributeError, KeyError):
                pass
            yield from map(event, writer.end())
            if "[DONE]" in broken:
                yield b"data: [DONE]\n\n"

        def stream(self, events: Any) -> None:
            self.send_response(200)
            self.send_header(
                "content-type", "text/plain" if "content type" in broken else "text/event-stream"
            )
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for each in events:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(each), each))
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *args: Any) -> None:
            del args

    return Handler


def event(given: Json) -> bytes:
    return f"event: {given['type']}\ndata: {json.dumps(given)}\n\n".encode()


@contextmanager
def running(upstream: int, *broken: str) -> Iterator[str]:
    """Yield the URL of a proxy whose upstream is that port of this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(upstream, frozenset(broken)))
    server.daemon_threads = True
    with _served(server) as url:
        yield url


@contextmanager
def hostile(*sent: bytes, silent: bool = False) -> Iterator[str]:
    """Yield the URL of what is no proxy: it sends these bytes to every request, then goes, or is silent."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            got = b""
            while b"\r\n\r\n" not in got:
                more = self.request.recv(65536)
                if not more:
                    return
                got += more
            with suppress(OSError):
                for each in sent:
                    self.request.sendall(each)
                while silent and self.request.recv(65536):
                    pass

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with _served(server) as url:
        yield url


@contextmanager
def _served(server: socketserver.TCPServer) -> Iterator[str]:
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
