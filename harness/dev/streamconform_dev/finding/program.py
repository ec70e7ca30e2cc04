"""Write a program that demonstrates a finding: a server that sends the stream, and a client that reads it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from typing import Any, Final

from streamconform.adapters import request_reader
from streamconform.apis import APIS
from streamconform.errors import SelectionError, UsageError
from streamconform.model.case import CallCase
from streamconform.model.trial import AnyTrial, Behavior, Call, RoundTrip, Trial
from streamconform.run.blame import Blame, load_snapshots
from streamconform.run.round_trip import extend
from streamconform.wire.framings import split
from streamconform_peers import conversation_source
from streamconform_peers.peer import Peer
from streamconform_peers.snippet_templates import Snippet, fill_in, read_snippet

READ: Final = 'self.rfile.read(int(self.headers["content-length"]))'
LINES: Final = re.compile(rb"[^\n]*\n+|[^\n]+")
"""The empty line that ends a frame is shown with the line before it."""
BYTEWISE: Final = "bytewise"
CUT_DELIVERIES: Final = (BYTEWISE, "utf8-split", "random")
"""Deliveries whose effect depends on how the stream is divided into network reads."""
TIMED: Final = "timed"
"""The delivery if the bug is a delay: the server pauses between pieces, and the program prints times."""
UNSUPPORTED: Final = ("gzip", "reset", "stall")
"""Deliveries and faults that a short server cannot reproduce."""
PYTHON: Final = """\
import __IMPORTS__
from http.server import BaseHTTPRequestHandler, HTTPServer

STREAM = [
__STREAM__
]


class Provider(BaseHTTPRequestHandler):
    def do_POST(self):
        __READ__
        self.send_response(__STATUS__)
        self.send_header("content-type", __TYPE__)
        self.end_headers()
        __SEND__
        __PAUSE__

    def log_message(self, *args):
        pass


server = HTTPServer(("127.0.0.1", 0), Provider)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"

"""
JAVASCRIPT: Final = """\
import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout } from "node:timers/promises";__PAUSED__
__IMPORTS__

const STREAM = [
__STREAM__
];
const seconds = () => `${(performance.now() / 1000).toFixed(1)} s`;__CLOCK__
const server = createServer(async (request, response) => {
  __READ__
  response.writeHead(__STATUS__, { "content-type": __TYPE__ });
  __SEND__
}).listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${server.address().port}`;

"""
READ_PYTHON: Final = f"print(self.path, json.dumps(json.loads({READ}), indent=1))"
READ_JAVASCRIPT: Final = """\
let body = "";
  for await (const piece of request) body += piece;
  console.log(request.url, JSON.stringify(JSON.parse(body), null, 1));"""
SEND_JAVASCRIPT: Final = 'response.end(Buffer.from(STREAM.shift(), "latin1"));'


def write_program(peer: Peer, trial: AnyTrial, *, timed: bool = False) -> str:
    """Return the program for a trial, in the language of `peer`; if `timed`, it prints times.

    Raises:
        SelectionError: a short program cannot reproduce the trial.
        UsageError: the peer has no snippet for the trial's API.
    """
    api = trial.id.partition("/")[0]
    snippet = read_snippet(peer, api)
    if isinstance(trial, Trial):
        return _write_stream_program(peer, snippet, trial, timed=timed)
    if isinstance(trial, RoundTrip) and snippet.conversation is not None:
        return _write_conversation_program(peer, snippet, trial)
    if snippet.request is None or not isinstance(trial, RoundTrip | Call):
        raise UsageError(f"`{trial.id}` is about requests, for which `{peer.name}` has no snippet")
    conversation = _join_round_trip(trial) if isinstance(trial, RoundTrip) else trial.case.input
    return _write_request_program(peer, snippet, api, conversation)


def find_model(trial: AnyTrial) -> str:
    """Return the model that a trial requests."""
    if isinstance(trial, Trial):
        return trial.case.cassette.model or "model"
    if isinstance(trial, Behavior):
        return trial.barrier.case.cassette.model or "model"
    conversation = trial.case.input if isinstance(trial.case, CallCase) else trial.case.conversation
    return str(conversation["model"])


def _write_stream_program(peer: Peer, snippet: Snippet, trial: Trial, *, timed: bool) -> str:
    kind = TIMED if timed else trial.delivery.partition(".")[0]
    if timed and "__RECEIVED__" not in snippet.code:
        raise SelectionError(f"the snippet for `{peer.name}` has no `__RECEIVED__`, so it cannot print times")
    if kind in UNSUPPORTED or trial.transport != "http" or not trial.case.stream:
        form = f"`{kind}` needs more than HTTP, or breaks the connection or its encoding"
        why = form if trial.case.stream else "it is a non-streaming answer"
        raise SelectionError(
            f"`{trial.id}` cannot be demonstrated by a short program: {why}; choose another trial"
        )
    cassette = trial.case.cassette
    values = {
        **_describe_tools(cassette.request.body, peer.language),
        **snippet.values,
        "MODEL": find_model(trial),
        "RECEIVED": 'seconds(), "received", ' if timed else "",
    }
    # A bytewise program splits the body itself, so its source shows lines rather than a literal per byte.
    in_pieces = (*CUT_DELIVERIES, TIMED)
    pieces = trial.chunks if kind in in_pieces and kind != BYTEWISE else tuple(_split_lines(trial))
    server = {
        "STATUS": str(cassette.status),
        "TYPE": json.dumps(cassette.content_type or "text/event-stream"),
        "STREAM": _format_pieces(pieces, peer.language),
    }
    write = _write_javascript if peer.language == "javascript" else _write_python
    return write(snippet, server, values, kind if kind in in_pieces else None)


def _write_request_program(peer: Peer, snippet: Snippet, api: str, conversation: Mapping[str, Any]) -> str:
    assert snippet.request is not None, "the caller has checked it"
    reply = APIS[api].canned_replies[-1]  # the newest version of the API
    model, in_javascript = str(conversation["model"]), peer.language == "javascript"
    if snippet.values.get("REPLY") == "stream":  # the library streams even if its user does not
        body = reply.write(json.dumps(payload).encode() for payload in reply.payloads(model))
        content_type = reply.content_type
    else:
        body, content_type = json.dumps(reply.document(model)).encode(), "application/json"
    server = {
        "STATUS": "200",
        "TYPE": json.dumps(content_type),
        "STREAM": _format_pieces(LINES.findall(body), peer.language),
        "READ": READ_JAVASCRIPT if in_javascript else READ_PYTHON,
    }
    if in_javascript:
        values = {**snippet.values, "CONVERSATION": json.dumps(conversation), "MODEL": model}
        return _write_javascript(replace(snippet, code=snippet.request), server, values, None)
    sources = _describe_conversation(peer, api, conversation)
    if snippet.values.get("PREFIX") != "openai":
        sources.pop("PREFIX", None)  # only hosts of OpenAI's API have their own path prefixes
    values = {**snippet.values, **sources, "MODEL": model}
    return _write_python(replace(snippet, code=snippet.request), server, values, None)


def _write_conversation_program(peer: Peer, snippet: Snippet, trial: RoundTrip) -> str:
    """Return a program in which the library has the conversation, and the server prints its requests."""
    assert snippet.conversation is not None, "the caller has checked it"
    case, cassette = trial.case, trial.answers[0].case.cassette
    results: dict[str, list[str]] = {}
    for result in case.turns[0].results:
        results.setdefault(result["name"], []).append(result["content"])
    if len(case.turns) > 1 or not all(isinstance(text, str) for texts in results.values() for text in texts):
        raise SelectionError(f"`{trial.id}` has more than one turn, or not only text; choose another trial")
    in_javascript = peer.language == "javascript"
    server = {
        "STATUS": "200",
        "TYPE": json.dumps(cassette.content_type or "text/event-stream"),
        "STREAM": "\n".join(_format_answer(answer, peer.language) for answer in trial.answers),
        "READ": READ_JAVASCRIPT
        if in_javascript
        else f"print(self.path, json.dumps(json.loads({READ}), indent=1))",
        "SEND": SEND_JAVASCRIPT if in_javascript else "self.wfile.write(STREAM.pop(0))",
    }
    literal = json.dumps if in_javascript else repr
    values = {
        **_describe_tools(cassette.request.body, peer.language),
        **snippet.values,
        "MODEL": find_model(trial),
        "PROMPT": literal(case.conversation["messages"][-1]["content"]),
        "RESULTS": literal(results),
    }
    write = _write_javascript if in_javascript else _write_python
    return write(replace(snippet, code=snippet.conversation), server, values, None)


def _format_answer(trial: Trial, language: str) -> str:
    """Return an answer's body as one item of a list, with a literal per line of the body."""
    if language == "javascript":
        lines = (json.dumps(line.decode("latin-1")) for line in _split_lines(trial))
        return "  [\n" + "\n".join(f"    {line}," for line in lines) + '\n  ].join(""),'
    return "    (\n" + "\n".join(f"        {line!r}" for line in _split_lines(trial)) + "\n    ),"


def _write_python(
    snippet: Snippet, server: Mapping[str, str], values: Mapping[str, str], cut: str | None
) -> str:
    modules = ["threading", *(["json"] if "READ" in server else []), *(["time"] if cut else [])]
    send: tuple[str, ...]
    if cut == BYTEWISE:
        send = 'for byte in b"".join(STREAM):', "    self.wfile.write(bytes([byte]))"
    elif cut:
        send = "for piece in STREAM:", "    self.wfile.write(piece)"
    else:
        send = ('self.wfile.write(b"".join(STREAM))',)
    indent = "\n        "
    # Without pauses, the operating system may join several writes into one read.
    sending = {"SEND": indent.join(send), **({"PAUSE": "    time.sleep(0.001)"} if cut else {})}
    imports = {"IMPORTS": "\nimport ".join(sorted(modules))}
    return fill_in(PYTHON, {"READ": READ, **imports, **sending, **server}) + fill_in(snippet.code, values)


def _write_javascript(
    snippet: Snippet, server: Mapping[str, str], values: Mapping[str, str], cut: str | None
) -> str:
    joined = 'Buffer.from(STREAM.join(""), "latin1")'
    in_bytes = 'Buffer.from(piece, "latin1")'
    send: tuple[str, ...]
    if cut == TIMED:
        send = (
            "for (const piece of STREAM) {",
            '  console.log(seconds(), "sent", JSON.stringify(piece));',
            f"  await setTimeout(500, response.write({in_bytes}));",
            "}",
            "response.end();",
        )
    elif cut:
        pieces = joined if cut == BYTEWISE else f"STREAM.map((piece) => {in_bytes})"
        piece = "Buffer.of(piece)" if cut == BYTEWISE else "piece"
        send = (
            f"for (const piece of {pieces}) await setTimeout(1, response.write({piece}));",
            "response.end();",
        )
    else:
        send = (f"response.end({joined});",)
    imports = fill_in(snippet.imports, values).rstrip()
    sending = {"READ": "for await (const _ of request);", "SEND": "\n  ".join(send)}
    optional = {**({"PAUSED": ""} if cut else {}), **({"CLOCK": ""} if cut == TIMED else {})}
    return (
        fill_in(JAVASCRIPT, {**sending, **server, **optional, "IMPORTS": imports})
        + fill_in(snippet.code, values)
        # The client's pool keeps its connections open, and Node.js would not exit before they are closed.
        + "server.closeAllConnections();\nserver.close();\n"
    )


def _split_lines(trial: Trial) -> Iterator[bytes]:
    """Yield the body line by line, or message by message if it is binary."""
    framing = APIS[trial.case.api].frame_case(trial.case, trial.body)
    if framing in {"eventstream", "invoke_stream"}:
        ends = [0, *(frame.end for frame in split(framing, trial.body)), len(trial.body)]
        for start, end in pairwise(ends):
            yield trial.body[start:end]
    else:
        yield from LINES.findall(trial.body)


def _format_pieces(pieces: Sequence[bytes], language: str) -> str:
    """Return one ASCII literal per piece; in JavaScript, each character of a literal represents one byte."""
    if language == "javascript":
        return "\n".join(f"  {json.dumps(piece.decode('latin-1'))}," for piece in pieces if piece)
    return "\n".join(f"    {piece!r}," for piece in pieces if piece)


def _describe_tools(request: Any, language: str) -> dict[str, str]:
    """Return a request's tools in several forms; empty if it declares no tools that a client runs."""
    tools = request_reader.read_tools(request)
    if not tools:
        return {}
    functions = [
        {"name": name, "description": text or name, "parameters": dict(schema)}
        for name, text, schema in tools
    ]
    forms: dict[str, Any] = {
        "TOOLS": [tool for tool in request.get("tools", ()) if isinstance(tool, dict)],
        "FUNCTIONS": functions,
        "FUNCTION_TOOLS": [{"type": "function", "function": function} for function in functions],
        "PYDANTIC_TOOLS": [
            {"name": name, "description": text, "parameters_json_schema": dict(schema)}
            for name, text, schema in tools
        ],
        "TOOL_SPECS": [
            {"name": name, "description": text or name, "inputSchema": {"json": dict(schema)}}
            for name, text, schema in tools
        ],
        "COHERE_TOOLS": [
            {"properties": {}, **schema, "title": name, "description": text} for name, text, schema in tools
        ],
    }
    write = json.dumps if language == "javascript" else repr
    ai_tools = "".join(
        f"{function['name']}: tool({{ inputSchema: jsonSchema({json.dumps(function['parameters'])}) }}), "
        for function in functions
    )
    return {**{name: write(value) for name, value in forms.items()}, "AI_TOOLS": f"{{ {ai_tools}}}"}


def _describe_conversation(peer: Peer, api: str, conversation: Mapping[str, Any]) -> dict[str, str]:
    """Return source code that builds the conversation from the library's own types."""
    # In a separate process, because it replaces the library's modules with stand-ins.
    ran = subprocess.run(
        (sys.executable, "-m", conversation_source.__name__, peer.library),
        input=json.dumps({"conversation": conversation, "api": api}),
        capture_output=True,
        text=True,
        check=True,
    )
    sources: dict[str, str] = json.loads(ran.stdout)
    return sources


def _join_round_trip(trial: RoundTrip) -> Mapping[str, Any]:
    """Return the conversation of the last request, with the answers as the reference reads them."""
    conversation = trial.case.conversation
    blame = Blame(load_snapshots())
    for answer, turn in zip(trial.answers, trial.case.turns, strict=False):
        outcome = blame.list_outcomes(answer)[-1][1]
        blocks = [
            {key: value for key, value in asdict(block).items() if key != "absent"}
            for block in outcome.content
        ]
        conversation = extend(conversation, {"content": blocks}, turn)
    return conversation
