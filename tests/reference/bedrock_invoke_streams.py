"""Small authored invoke streams: Anthropic's events in Bedrock's messages, each with a single peculiarity."""

from __future__ import annotations

import base64
import json
from typing import Any

from streamconform_reference.framing.sse import SseFraming

from . import streams as anthropic
from .bedrock_converse_streams import exception, failure, named
from .streams import Payload, args, ends, says, start, tool, whole_text
from .streams import stop as end

HEADERS = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}


def wrapped(event: bytes, **fields: Any) -> bytes:
    """Return a chunk with the text of an event."""
    part = {"bytes": base64.b64encode(event).decode(), "p": "abcd", **fields}
    return named(HEADERS, json.dumps(part).encode())


def chunk(event: Payload) -> bytes:
    return wrapped(json.dumps(event, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def stop(**metrics: Any) -> Payload:
    latencies = {"invocationLatency": 9, "firstByteLatency": 4}
    return {"type": "message_stop", "amazon-bedrock-invocationMetrics": metrics | latencies}


def message(*events: Payload) -> bytes:
    return b"".join(map(chunk, events))


def answer(*blocks: Payload, reason: str = "end_turn", **more: Any) -> bytes:
    """Return a complete answer with these blocks; `more` are members of the last event."""
    return message(start(), *blocks, ends(reason), stop(inputTokenCount=10, outputTokenCount=5) | more)


def of_anthropic(body: bytes) -> bytes:
    """Return the events of an Anthropic stream as chunks."""
    framing = SseFraming()
    return b"".join(wrapped(frame.data) for frame in (*framing.receive(body), *framing.end()))


BEGUN = message(start(), *whole_text("par")[:2])

ENDED = message(says("is"), end(0), ends(), stop())

STREAMS: dict[str, bytes] = {
    **{name: of_anthropic(body) for name, body in anthropic.STREAMS.items()},
    "metrics": answer(*whole_text("Hi")),
    "exception": BEGUN + exception("throttlingException"),
    "error-message": BEGUN + failure("InternalFailure", "it broke"),
    "metrics-of-a-call": message(
        start(input_tokens=10, output_tokens=1),
        tool(0),
        args(0, '{"a":1}'),
        end(0),
        ends("tool_use", output_tokens=130),
        stop(inputTokenCount=10, outputTokenCount=98),
    ),
    "metrics-with-cache": message(
        start(input_tokens=10, output_tokens=1),
        *whole_text("Hi"),
        ends(output_tokens=5),
        stop(
            inputTokenCount=10,
            outputTokenCount=5,
            cacheReadInputTokenCount=7,
            cacheWriteInputTokenCount=3,
        ),
    ),
    "cache-in-usage": message(
        start(
            input_tokens=10,
            output_tokens=1,
            cache_read_input_tokens=7,
            cache_creation_input_tokens=3,
        ),
        *whole_text("Hi"),
        ends(output_tokens=5),
        stop(inputTokenCount=10, outputTokenCount=5),
    ),
    "damaged": BEGUN + chunk(says("is"))[:-4] + chunk(says("do"))[-4:] + ENDED,
    "unknown-message": BEGUN + named({**HEADERS, ":event-type": "trace"}, b"plain") + message(says("is")),
    "no-bytes": BEGUN + named(HEADERS, b'{"p":"ab"}') + message(says("is")),
    "not-base64": BEGUN + named(HEADERS, b'{"bytes":"{}"}') + ENDED,
    "not-json": BEGUN + wrapped(b"plain text"),
}
