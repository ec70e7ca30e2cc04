"""A translating proxy in a hundred lines, Anthropic Messages to Ollama, with mistakes to plant."""

from __future__ import annotations

import http.client
import json
import socketserver
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Thread
from typing import Any

Json = dict[str, Any]
STOPS = {"length": "max_tokens"}


@dataclass
class EventWriter:
    """Translates Ollama's records to Anthropic's events."""

    mistakes: frozenset[str]
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
            if "error dropped" in self.mistakes:
                yield from self.done({})
            else:
                yield from self.fail(str(record["error"]))
            return
        message = record.get("message") or {}
        if message.get("thinking") and "thinking lost" not in self.mistakes:
            yield from self.delta("thinking", "thinking", message["thinking"])
        if message.get("content"):
            yield from self.delta("text", "text", message["content"])
        for call in message.get("tool_calls") or ():
            self.calls += 1
            if self.calls == 1 or "second call dropped" not in self.mistakes:
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
        if "arguments encoded twice" in self.mistakes:
            text = json.dumps(text)
        delta = {"type": "input_json_delta", "partial_json": text}
        yield {"type": "content_block_delta", "index": self.index, "delta": delta}
        yield from self.close()

    def begin(self, block: str, start: Json) -> Json:
        if "wrong index" not in self.mistakes or self.index < 0:
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
        reason = "tool_use" if self.calls and "wrong stop reason" not in self.mistakes else "end_turn"
        stop = STOPS.get(str(record.get("done_reason")), reason)
        yield {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage}
        yield {"type": "message_stop"}

    def fail(self, message: str) -> Iterator[Json]:
        self.ended = True
        yield {"type": "error", "error": {"type": "api_error", "message": message}}

    def end(self) -> Iterator[Json]:
        if not self.ended:
            yield from (
                self.done({})
                if "end_turn after a cut" in self.mistakes
                else self.fail("the upstream disconnected")
            )


def translate_request(body: Json) -> Json:
    messages = [
        {"role": message["role"], "content": _join_text(message["content"])} for message in body["messages"]
    ]
    tools = [
        {"type": "function", "function": {"name": tool["name"], "parameters": tool["input_schema"]}}
        for tool in body.get("tools", ())
    ]
    return {
        "model": body["model"],
        "messages": messages,
        "think": True,
        **({"tools": tools} if tools else {}),
    }


def _join_text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


def make_handler(
    upstream: int, mistakes: frozenset[str], required: Mapping[str, str]
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if any(self.headers[name] != value for name, value in required.items()):
                received = dict(self.headers.items())
                self.send_error_document(401, f"expected other headers than {received}".encode())
                return
            connection = http.client.HTTPConnection("127.0.0.1", upstream, timeout=10)
            request = translate_request(body) | ({"tools": []} if "tools dropped" in mistakes else {})
            connection.request("POST", "/api/chat", json.dumps(request))
            answer = connection.getresponse()
            if answer.status != 200:
                self.send_error_document(answer.status, answer.read())
            elif "one chunk" in mistakes:
                self.stream([b"".join(self.events(answer))])
            else:
                self.stream(self.events(answer))
            connection.close()

        def send_error_document(self, status: int, body: bytes) -> None:
            message = body.decode("utf-8", "replace") or "empty body"
            error = {"type": "error", "error": {"type": "api_error", "message": message}}
            document = b"oops" if "error without a document" in mistakes else json.dumps(error).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(document)))
            self.end_headers()
            self.wfile.write(document)

        def events(self, answer: http.client.HTTPResponse) -> Iterator[bytes]:
            writer = EventWriter(mistakes)
            yield from map(encode_event, writer.start())
            try:
                for line in answer:
                    if line.strip():
                        yield from map(encode_event, writer.record(json.loads(line)))
                    if writer.ended:
                        break
            except (http.client.HTTPException, OSError, ValueError, TypeError, AttributeError, KeyError):
                pass
            yield from map(encode_event, writer.end())
            if "[DONE]" in mistakes:
                yield b"data: [DONE]\n\n"

        def stream(self, events: Any) -> None:
            self.send_response(200)
            self.send_header(
                "content-type", "text/plain" if "content type" in mistakes else "text/event-stream"
            )
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for chunk in events:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *args: Any) -> None:
            del args

    return Handler


def encode_event(event: Json) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


@contextmanager
def serve_proxy(upstream: int, *mistakes: str, required: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield the URL of a proxy whose upstream is the local port `upstream`.

    A request without the `required` headers gets an error that repeats all of its headers.
    """
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), make_handler(upstream, frozenset(mistakes), required or {})
    )
    server.daemon_threads = True
    with _serve(server) as url:
        yield url


@contextmanager
def serve_bytes(*chunks: bytes, silent: bool = False) -> Iterator[str]:
    """Yield the URL of a server that sends `chunks` to every request, then disconnects or stays silent."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            data = b""
            while b"\r\n\r\n" not in data:
                chunk = self.request.recv(65536)
                if not chunk:
                    return
                data += chunk
            with suppress(OSError):
                for chunk in chunks:
                    self.request.sendall(chunk)
                while silent and self.request.recv(65536):
                    pass

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with _serve(server) as url:
        yield url


@contextmanager
def _serve(server: socketserver.TCPServer) -> Iterator[str]:
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
