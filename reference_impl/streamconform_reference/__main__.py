"""The reference implementation as a program that speaks protocol version 1: JSON lines on stdin and stdout.

This is a minimal but complete example of such a program. It answers `hello` with its capabilities, and each
`run` and `call` with one `result`; it exits at `stop` or at the end of its input. In `push` mode, the chunks
of a run arrive as separate lines, and its events are written between them as they happen. Nothing but the
protocol is written to stdout.
"""

from __future__ import annotations

import base64
import sys
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from streamconform_reference import adapter
from streamconform_reference.decoding.decoder import Decoder
from streamconform_reference.json_text import codec

from .adapter import FUNCTIONS, BytesRun, open_decoder
from .apis import DECODERS
from .events import Event

PROTOCOL: Final = 1
INPUTS: Final = (*adapter.inputs, "push")


def build_hello() -> dict[str, Any]:
    """Return the reply to `hello`."""
    return {
        "op": "hello",
        "protocol": PROTOCOL,
        "implementation": adapter.info,
        "apis": adapter.apis,
        "inputs": list(INPUTS),
        "capabilities": adapter.capabilities,
        "concurrency": 1,
    }


def run_bytes(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outcome of a run that includes its chunks, plus the events if the message requests them."""
    *events, last = adapter(parse_run(message))
    return {**last, "events": events} if "events" in message["want"] else last


def parse_run(message: Mapping[str, Any]) -> BytesRun:
    """Return a `run` message in the form that the adapter takes."""
    run_input = message["input"]
    return BytesRun(
        api=message["api"],
        status=run_input["status"],
        headers=run_input["headers"],
        pricing=message.get("pricing"),
        chunks=tuple(base64.b64decode(chunk) for chunk in run_input.get("chunks", ())),
        stream=message.get("stream", True),
    )


def find_skip_reason(message: Mapping[str, Any]) -> str | None:
    """Return the reason for skipping a run, or None if it can be run."""
    if message["api"] not in adapter.apis:
        return f"does not support API {message['api']}"
    mode = message["input"]["mode"]
    return None if mode in INPUTS else f"does not support input mode {mode}"


def call_function(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the output of the function that a call names, or the reason for skipping the call."""
    function = FUNCTIONS.get(message["function"])
    if function is None:
        return {"skipped": {"reason": f"does not support function {message['function']}"}}
    return {"output": function(message.get("api"), message["input"])}


class Session:
    """A connection to a harness, which stores pushed runs by id until they end."""

    def __init__(self) -> None:
        """Start without open runs."""
        self._open: dict[str, tuple[Decoder, bool]] = {}
        self._documents: dict[str, BytesRun] = {}

    def reply_to(self, message: Any) -> Iterator[dict[str, Any]]:
        """Yield the lines that answer one message; none if the message's form is unknown."""
        match message:
            case {"op": "hello"}:
                yield build_hello()
            case {"op": str(op), "id": str(run_id)}:
                try:
                    yield from self._dispatch(op, run_id, message)
                except Exception as error:  # noqa: BLE001 - a bug here is reported as a result, not a crash
                    self._open.pop(run_id, None)
                    failure = {"message": repr(error), "traceback": traceback.format_exc()}
                    yield {"op": "result", "id": run_id, "errored": failure}
            case _:
                pass

    def _dispatch(self, op: str, run_id: str, message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        result = {"op": "result", "id": run_id}
        match op:
            case "run":
                reason = find_skip_reason(message)
                if reason is not None:
                    yield {**result, "skipped": {"reason": reason}}
                elif message["input"]["mode"] == "push" and not message.get("stream", True):
                    self._documents[run_id] = parse_run(message)
                elif message["input"]["mode"] == "push":
                    decoder = open_decoder(parse_run(message), DECODERS)
                    self._open[run_id] = decoder, "events" in message["want"]
                else:
                    yield {**result, **run_bytes(message)}
            case "chunk" if run_id in self._documents:
                run = self._documents[run_id]
                chunks = (*run.chunks, base64.b64decode(message["data"]))
                self._documents[run_id] = replace(run, chunks=chunks)
            case "eof" if run_id in self._documents:
                *_, last = adapter(self._documents.pop(run_id))
                yield {**result, **last}
            case "chunk" if run_id in self._open:
                decoder, live = self._open[run_id]
                yield from _format_events(
                    run_id, decoder.receive_data(base64.b64decode(message["data"])), live=live
                )
            case "eof" if run_id in self._open:
                decoder, live = self._open.pop(run_id)
                yield from _format_events(run_id, decoder.receive_eof(), live=live)
                yield {**result, "outcome": decoder.outcome.to_json()}
            case "chunk" | "eof":
                pass  # the run already has its result, for example after an error
            case "call":
                yield {**result, **call_function(message)}
            case _:
                yield {**result, "skipped": {"reason": f"does not support op {op}"}}


def _format_events(run_id: str, events: list[Event], *, live: bool) -> Iterator[dict[str, Any]]:
    for event in events if live else ():
        yield {"op": "event", "id": run_id, "event": event.to_json()}


def main() -> None:
    """Answer line by line until `stop` or the end of stdin."""
    session = Session()
    for line in sys.stdin.buffer:
        try:
            message = codec.loads(line)
        except codec.NotJsonError as error:
            sys.stderr.write(f"not a message: {error}\n")
            continue
        if isinstance(message, dict) and message.get("op") == "stop":
            break
        for line_out in session.reply_to(message):
            sys.stdout.buffer.write(codec.dumps(line_out) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
