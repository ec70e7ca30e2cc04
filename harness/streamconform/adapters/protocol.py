"""Protocol v1 as text: messages to a program, and what a line from one means (`protocol.v1.json`)."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from streamconform import __version__
from streamconform.adapters.interface import (
    Answer,
    Errored,
    Fault,
    FaultKind,
    Greeting,
    Observation,
    Skipped,
)
from streamconform.model.capability import CAPABILITIES, Claims
from streamconform.model.trial import Trial
from streamconform.schemas import problems

VERSION: Final = 1
MAX_LINE: Final = 64 * 1024 * 1024
"""Bytes in one line from a program: four times the largest body, as events repeat what they carry."""

MAX_DEPTH: Final = 200
"""Levels of nesting in one line: what is judged and reported is walked recursively."""

STOP: Final = b'{"op":"stop"}\n'
BYTE: Final = tuple(base64.b64encode(bytes((i,))).decode() for i in range(256))


class ProtocolFault(Exception):
    """A line breaks the protocol; becomes a `Fault` of the trial that it belongs to."""

    def __init__(self, kind: FaultKind, message: str) -> None:
        """Keep kind and message."""
        super().__init__(message)
        self.kind: FaultKind = kind
        self.message = message


@dataclass(frozen=True, slots=True)
class Reply:
    """A result line: the answer to the run `id`."""

    id: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class LiveEvent:
    """An event line of the run `id`."""

    id: str
    event: Any


def hello() -> bytes:
    """Return the greeting."""
    return _line({"op": "hello", "protocol": VERSION, "harness": __version__})


def run(id_: str, trial: Trial, *, events: bool) -> bytes:
    """Return the request to read the stream of `trial`; nothing in it tells what is expected."""
    cassette = trial.case.cassette
    chunks = [
        BYTE[chunk[0]] if len(chunk) == 1 else base64.b64encode(chunk).decode() for chunk in trial.chunks
    ]
    return _line(
        {
            "op": "run",
            "id": id_,
            "api": trial.case.api,
            "input": {
                "mode": "bytes",
                "status": cassette.status,
                "headers": dict(cassette.headers),
                "chunks": chunks,
            },
            "request": cassette.request.body,
            "model": cassette.model,
            "pricing": trial.case.pricing,
            "want": ["outcome", "events"] if events else ["outcome"],
        }
    )


def greeting(line: bytes, fallback: str) -> Greeting:
    """Return what the program says of itself; raises `ProtocolFault` with what is wrong in its answer."""
    message = _parsed(line)
    if message.get("op") != "hello" or message.get("protocol") != VERSION:
        words = f"expected `hello` with protocol {VERSION}, got {shown(line)}"
        raise ProtocolFault("not-a-message", words)
    wrong = problems("protocol.v1", message, "hello")
    if wrong:
        raise ProtocolFault("not-a-message", "; ".join(wrong))
    given = message["implementation"]
    apis = message.get("apis")
    return Greeting(
        name=given.get("name") or fallback,
        version=given.get("version"),
        language=given.get("language"),
        issues=given.get("issues"),
        apis=None if apis is None else frozenset(apis),
        inputs=tuple(message.get("inputs") or ("bytes",)),
        capabilities=_claims(message.get("capabilities")),
        concurrency=int(message.get("concurrency") or 1),
    )


def reply(line: bytes) -> Reply | LiveEvent:
    """Return what `line` says; raises `ProtocolFault` where it is no message of the protocol."""
    message = _parsed(line)
    id_ = message.get("id")
    if not isinstance(id_, str):
        raise ProtocolFault("not-a-message", f"a line without `id`: {shown(line)}")
    match message.get("op"):
        case "event":
            return LiveEvent(id_, message.get("event"))
        case "result":
            return Reply(id_, _answer(message, line))
        case op:
            raise ProtocolFault(
                "not-a-message", f"`op` is {op!r}, expected `result` or `event`: {shown(line)}"
            )


def shown(line: bytes) -> str:
    """Return the beginning of `line` as harmless text."""
    text = ascii(line[:120].decode("utf-8", "replace"))
    return text if len(line) <= 120 else f"{text}… ({len(line)} bytes)"


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def _parsed(line: bytes) -> Mapping[str, Any]:
    try:
        message = json.loads(line, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        words = f"expected a JSON object, got {shown(line)}; print nothing else to stdout"
        raise ProtocolFault("not-json", words) from error
    if line.count(b"[") + line.count(b"{") > MAX_DEPTH and _deep(message):
        words = f"a message nested deeper than {MAX_DEPTH} levels: {shown(line)}"
        raise ProtocolFault("not-a-message", words)
    if not isinstance(message, dict):
        raise ProtocolFault("not-json", f"expected a JSON object, got {shown(line)}")
    return message


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(text)  # nothing could be written about it in JSON
    return number


def _deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for node in level
            if isinstance(node, dict | list)
            for child in (node.values() if isinstance(node, dict) else node)
        ]
        if not level:
            return False
    return True


def _answer(message: Mapping[str, Any], line: bytes) -> Answer:
    taken = message.get("taken")
    match message:
        case {"outcome": outcome}:
            counts = tuple(taken) if isinstance(taken, list) and all(type(n) is int for n in taken) else None
            return Observation(outcome, message.get("events"), counts)
        case {"skipped": {"reason": str(reason)}}:
            return Skipped(reason)
        case {"errored": {"message": str(said), **rest}}:
            traceback = rest.get("traceback")
            return Errored(said, traceback if isinstance(traceback, str) else None)
        case _:
            words = f"a result has `outcome`, `skipped` or `errored`: {shown(line)}"
            return Fault("not-a-message", words)


def _claims(given: Any) -> Claims | Mapping[str, Claims] | None:
    if given is None:
        return None
    if isinstance(given, Mapping):
        return {api: CAPABILITIES & frozenset(claimed) for api, claimed in given.items()}
    return CAPABILITIES & frozenset(given)
