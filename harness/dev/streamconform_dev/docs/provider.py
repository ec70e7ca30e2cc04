"""A provider on loopback that streams one answer, with the compression that the request accepts."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import brotli

BODY: Final = """\
event: message_start
data: {"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", \
"model": "claude-haiku-4-5", "content": [], "stop_reason": null, \
"usage": {"input_tokens": 12, "output_tokens": 1}}}

event: content_block_start
data: {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}

event: content_block_delta
data: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Grüß "}}

event: content_block_delta
data: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "dich 🌍"}}

event: content_block_stop
data: {"type": "content_block_stop", "index": 0}

event: message_delta
data: {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}

event: message_stop
data: {"type": "message_stop"}

""".encode()
KEY: Final = "sk-not-a-real-key-0123456789abcdef"
REQUEST: Final = {"model": "claude-haiku-4-5", "max_tokens": 64, "stream": True, "messages": []}
CODINGS: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "gzip": gzip.compress,
    "br": brotli.compress,
    "identity": bytes,
}


class Provider(BaseHTTPRequestHandler):
    """Answers a message with a stream, and lists no models."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """List the models."""
        self._answer(200, "application/json", b'{"data": []}', "identity")

    def do_POST(self) -> None:
        """Stream the answer, or refuse the model `none`."""
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if not request.get("stream"):
            self._answer(200, "application/json", b'{"type": "message", "content": []}', "identity")
        elif request.get("model") == "none":
            error = {"type": "error", "error": {"type": "not_found_error", "message": "model: none"}}
            self._answer(404, "application/json", json.dumps(error).encode(), "identity")
        else:
            self._answer(200, "text/event-stream", BODY, self.headers.get("x-coding", "identity"))

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

    def _answer(self, status: int, media_type: str, body: bytes, coding: str) -> None:
        self.send_response(status)
        self.send_header("content-type", media_type)
        self.send_header("request-id", "req_011CzT2DkAmC21q58LV6CMnd")
        self.send_header("set-cookie", "session=1")
        if coding != "identity":
            self.send_header("content-encoding", coding)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        coded = CODINGS[coding](body)
        for start in range(0, len(coded), 100):
            piece = coded[start : start + 100]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")


@contextmanager
def provider() -> Iterator[str]:
    """Yield the base URL of a running provider."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
