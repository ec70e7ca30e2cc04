"""The reference implementation as a program: protocol version 1, JSON lines on stdin and stdout.

This is the smallest honest example of such a program. It answers `hello` with what it can do, each
`run` and each `call` with one `result`, and ends at `stop` or at the end of its input. stdout is for
the protocol alone.
"""

from __future__ import annotations

import base64
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from . import adapter, json_codec
from .adapter import FUNCTIONS

PROTOCOL: Final = 1


@dataclass(frozen=True, slots=True)
class BytesRun:
    """A `run` message of mode `bytes`, as the adapter takes it."""

    api: str
    status: int
    headers: Mapping[str, str]
    request: Any
    model: str | None
    pricing: Mapping[str, Any] | None
    chunks: tuple[bytes, ...]


def hello() -> dict[str, Any]:
    """Return the answer to the greeting."""
    return {
        "op": "hello",
        "protocol": PROTOCOL,
        "implementation": adapter.info,
        "apis": adapter.apis,
        "inputs": adapter.inputs,
        "capabilities": adapter.capabilities,
        "concurrency": 1,
    }


def run(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outcome of a run, its events where they are wanted, or why it was skipped."""
    given = message["input"]
    if message["api"] not in adapter.apis:
        return {"skipped": {"reason": f"does not read {message['api']}"}}
    if given["mode"] not in adapter.inputs:
        return {"skipped": {"reason": f"is not fed by mode {given['mode']}"}}
    *events, last = adapter(
        BytesRun(
            api=message["api"],
            status=given["status"],
            headers=given["headers"],
            request=message.get("request"),
            model=message.get("model"),
            pricing=message.get("pricing"),
            chunks=tuple(base64.b64decode(chunk) for chunk in given["chunks"]),
        )
    )
    return {**last, "events": events} if "events" in message["want"] else last


def call(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the function of a call makes of its input, or why it was skipped."""
    function = FUNCTIONS.get(message["function"])
    if function is None:
        return {"skipped": {"reason": f"has no function {message['function']}"}}
    return {"output": function(message.get("api"), message["input"])}


def answer(message: Any) -> dict[str, Any] | None:
    """Return the answer to one message, None where there is none to give."""
    match message:
        case {"op": "hello"}:
            return hello()
        case {"op": "run" | "call" as op, "id": str(number)}:
            try:
                told = run(message) if op == "run" else call(message)
            except Exception as error:  # noqa: BLE001 - our own fault is an answer, never a crash
                told = {"errored": {"message": repr(error), "traceback": traceback.format_exc()}}
            return {"op": "result", "id": number, **told}
        case {"op": str(op), "id": str(number)}:
            return {"op": "result", "id": number, "skipped": {"reason": f"does not know {op}"}}
        case _:
            return None


def main() -> None:
    """Answer line by line until `stop` or the end of the input."""
    for line in sys.stdin.buffer:
        try:
            message = json_codec.loads(line)
        except json_codec.NotJsonError as error:
            sys.stderr.write(f"not a message: {error}\n")
            continue
        if isinstance(message, dict) and message.get("op") == "stop":
            break
        reply = answer(message)
        if reply is not None:
            sys.stdout.buffer.write(json_codec.dumps(reply) + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
