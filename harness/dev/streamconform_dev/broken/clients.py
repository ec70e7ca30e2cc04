"""HTTP clients that misbehave, written in a few lines each, with nothing but sockets.

Like the programs in this folder, they misbehave in the second of four runs, in the function `broken`; the
number at the end of the base URL says which run it is.
"""

from __future__ import annotations

import textwrap
from typing import Final

from streamconform_dev.broken.programs import Broken

LARGE: Final = 20_000_000
"""More bytes than both ends of a connection buffer."""

HTTP = """\
import re, socket, struct, threading
from urllib.parse import urlsplit

KEPT = []  # what is never closed

def opened(message):
    url = urlsplit(message["input"]["base_url"])
    return socket.create_connection((url.hostname, url.port))

def path(message):
    return urlsplit(message["input"]["base_url"]).path + "/v1/messages"

def request(path, *headers, body=b'{"stream": true}'):
    lines = ("POST %s HTTP/1.1" % path, "host: x", "content-length: %d" % len(body), *headers)
    return "".join(line + "\\r\\n" for line in lines).encode() + b"\\r\\n" + body

def got(line):
    data = bytearray()
    try:
        while more := line.recv(65536): data += more
    except OSError: pass
    return data

def asked(message, *sent):
    line = opened(message)
    KEPT.append(line)
    try:
        for data in sent or [request(path(message), "connection: close")]: line.sendall(data)
    except OSError: pass
    return line

def result(message, data=b""):
    found, status = re.search(rb"data: (\\w+)\\n", data), data[9:12]
    ok = {"status": "complete", "stop": {"reason": "stop"}}
    bad = {"status": "error", "stop": {"reason": "error"}, "content": []}
    if status == b"200" and found: bad = {**ok, "content": [{"type": "text", "text": found[1].decode()}]}
    write(op="result", id=message["id"], outcome=bad)

def answer(message): result(message, got(asked(message)))

def reset(line):
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    line.close()

def serve(broken):
    greet(inputs=["http"])
    while (message := read())["op"] == "run":
        second = message["input"]["base_url"].endswith("/2")
        (broken if second else answer)(message)

"""


def client(id_: str, does: str, code: str, verdict: str = "pass", kind: str = "", **more: int) -> Broken:
    """Return a client over HTTP that runs `code` for the second run."""
    body = f"def broken(message):\n{textwrap.indent(textwrap.dedent(code).strip(), '    ')}"
    falls_on = 0 if verdict == "pass" else 2
    whole = f"{HTTP}{body}\nserve(broken)"
    return Broken(id_, does, whole, verdict, kind, falls_on, "http", verdict == "hang", **more)


ODD = (
    client(
        "http-keeps-600-connections",
        "opens 600 connections and keeps them",
        "KEPT.extend([opened(message) for _ in range(600)]); answer(message)",
    ),
    client(
        "http-keeps-its-connection",
        "keeps its connection open but sends nothing more",
        """
        line, data = asked(message, request(path(message))), b""
        while b"data: two" not in data: data += line.recv(65536)
        result(message, data)
        """,
    ),
    client(
        "http-resets-and-asks-again",
        "resets the connection while it receives the body, and sends the request again",
        "line = asked(message); line.recv(100); reset(line); answer(message)",
        padding=LARGE,
    ),
    client(
        "http-pipelines",
        "sends a second request before the answer to the first",
        """
        line = asked(message, request(path(message)) + request(path(message), "connection: close"))
        result(message, got(line))
        """,
    ),
    client(
        "http-asks-bytewise",
        "sends its request byte by byte",
        """
        pieces = [bytes([byte]) for byte in request(path(message), "connection: close")]
        result(message, got(asked(message, *pieces)))
        """,
    ),
    client(
        "http-retries-on-success",
        "sends ten requests, although it got an answer",
        "for _ in range(9): got(asked(message))\nanswer(message)",
    ),
    client(
        "http-retries-on-errors",
        "sends ten requests, because the answer is an error",
        "for _ in range(9): got(asked(message))\nanswer(message)",
        status=500,
    ),
)

HANGS = (
    client("http-hangs-before", "hangs before it sends a request", "time.sleep(60)", "hang"),
    client(
        "http-half-a-request",
        "sends half a request, then nothing more",
        "asked(message, request(path(message))[:30]); time.sleep(60)",
        "hang",
    ),
    client(
        "http-says-nothing",
        "opens a connection but sends nothing",
        "asked(message, b''); time.sleep(60)",
        "hang",
    ),
    client(
        "http-hangs-in-the-body",
        "hangs in the middle of the body",
        "asked(message).recv(100); time.sleep(60)",
        "hang",
        padding=LARGE,
    ),
    client(
        "http-reads-slowly",
        "reads a byte every 50 ms",
        "line = asked(message)\nwhile line.recv(1): time.sleep(0.05)",
        "hang",
        padding=LARGE,
    ),
    client(
        "http-waits-for-the-end-of-the-connection",
        "keeps reading after the end of the body, because it ignores the length",
        "result(message, got(asked(message, request(path(message)))))",
        "hang",
    ),
    client(
        "http-retries-for-ever",
        "sends requests endlessly",
        "while True: got(asked(message))",
        "hang",
    ),
)

ASTRAY = (
    client(
        "http-asks-nobody",
        "returns the expected answer without sending a request",
        "result(message, b'HTTP/1.1 200 \\r\\n\\r\\ndata: two\\n')",
        "faulted",
        "not-asked",
    ),
    client(
        "http-asks-somebody-else",
        "sends its request to another server, which answers as expected",
        """
        other = socket.create_server(("127.0.0.1", 0))
        def once():
            line, _ = other.accept()
            line.sendall(b"HTTP/1.1 200 OK\\r\\n\\r\\ndata: two\\n\\n")
            line.close()
        threading.Thread(target=once).start()
        result(message, got(socket.create_connection(other.getsockname())))
        """,
        "faulted",
        "not-asked",
    ),
    client(
        "http-asks-where-nobody-listens",
        "sends its request to a port without a server",
        """
        with socket.create_server(("127.0.0.1", 0)) as gone: port = gone.getsockname()
        try: socket.create_connection(port)
        except OSError: result(message)
        """,
        "fail",
    ),
    client(
        "http-without-the-path",
        "uses the host and port of the base URL, but not its path",
        "result(message, got(asked(message, request('/v1/messages', 'connection: close'))))",
        "fail",
    ),
    client(
        "http-another-path",
        "requests a different path below the base URL",
        "result(message, got(asked(message, request(path(message) + '/1', 'connection: close'))))",
        "faulted",
        "not-asked",
    ),
    client(
        "http-speaks-tls",
        "begins a TLS handshake",
        "result(message, got(asked(message, bytes.fromhex('16030100c8010000c40303') + bytes(200))))",
        "fail",
    ),
    client(
        "http-speaks-http-2",
        "speaks HTTP/2",
        "result(message, got(asked(message, b'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n')))",
        "fail",
    ),
    client(
        "http-sends-garbage",
        "sends something that is not HTTP",
        "result(message, got(asked(message, b'{\"stream\": true}\\r\\n\\r\\n')))",
        "fail",
    ),
    client(
        "http-huge-head",
        "sends an endless head",
        """
        line = asked(message, b"POST / HTTP/1.1\\r\\nhost: x\\r\\n")
        try:
            while True: line.sendall(b"a: %s\\r\\n" % (b"a" * 1000))
        except OSError: result(message)
        """,
        "fail",
    ),
    client(
        "http-huge-body",
        "sends 40 MB as its request",
        "result(message, got(asked(message, request(path(message), body=b'x' * 40_000_000))))",
        "fail",
    ),
    client(
        "http-resets-and-gives-up",
        "resets the connection while it receives the body, and reports an error",
        "line = asked(message); line.recv(100); reset(line); result(message)",
        "fail",
        padding=LARGE,
    ),
    client(
        "http-ends-in-the-body",
        "exits while it receives the body, with an open connection",
        "asked(message).recv(100); os._exit(7)",
        "faulted",
        "exited",
        padding=LARGE,
    ),
)

CLIENTS = (*ODD, *HANGS, *ASTRAY)
