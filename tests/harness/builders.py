"""Build small cases, cassettes and programs, and load the bundled ones; nothing is mocked."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamconform.adapters.connect import Connection
from streamconform.model.case import CallCase, Case, Kind, Level, Skip
from streamconform.model.cassette import Authored, Cassette, ChunkMark, Provenance, Request
from streamconform.model.leaf import AnyOf, Literally
from streamconform.model.result import Footer, Header, ImplementationInfo, TrialResult
from streamconform.model.trial import Call, Delivered, Framing, Trial
from streamconform.model.verdict import Verdict
from streamconform.run.results import Results
from streamconform.suite import expectation
from streamconform.wire import eventstream, invoke_stream

ANTHROPIC = "anthropic-messages"
SOURCE = "https://docs.example.org/stream"

TEXT_FRAMES: tuple[Mapping[str, Any], ...] = (
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-haiku-4-5",
            "content": [],
            "stop_reason": None,
            "usage": {"input_tokens": 12, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Grüß "}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "dich 🌍"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
    {"type": "message_stop"},
)
"""A complete answer with the text `Grüß dich 🌍`."""

TEXT_EXPECT: Mapping[str, Any] = {
    "status": "complete",
    "stop": "stop",
    "content": [{"text": "Grüß dich 🌍"}],
    "usage": {"input": 12, "output": 9},
}

TEXT_OUTCOME: Mapping[str, Any] = {
    "status": "complete",
    "content": [{"type": "text", "text": "Grüß dich 🌍"}],
    "stop": {"reason": "stop", "raw": "end_turn"},
    "usage": {"input": 12, "output": 9},
}

TEXT_EVENTS: Sequence[Mapping[str, Any]] = (
    {"type": "text_start", "content_index": 0},
    {"type": "text_delta", "content_index": 0, "delta": "Grüß "},
    {"type": "text_delta", "content_index": 0, "delta": "dich 🌍"},
    {"type": "text_end", "content_index": 0, "text": "Grüß dich 🌍"},
    {"type": "done", "stop": {"reason": "stop", "raw": "end_turn"}},
)


def sse_body(frames: Sequence[Mapping[str, Any]], *, end: str = "\n") -> bytes:
    events = (
        f"event: {each['type']}{end}data: {json.dumps(each, ensure_ascii=False)}{end}{end}" for each in frames
    )
    return "".join(events).encode()


def cassette(
    body: bytes | None = None,
    *,
    api: str = ANTHROPIC,
    name: str = "small",
    status: int = 200,
    marks: Sequence[tuple[int, int]] = (),
    request: Mapping[str, Any] | None = None,
    provenance: Provenance | None = None,
    twin: bytes | None = None,
) -> Cassette:
    return Cassette(
        api=api,
        name=name,
        request=Request(
            method="POST",
            path="/v1/messages",
            headers={"content-type": "application/json"},
            body=request or {"model": "claude-haiku-4-5", "stream": True},
        ),
        status=status,
        headers={"content-type": "text/event-stream"},
        body=sse_body(TEXT_FRAMES) if body is None else body,
        suffix="sse",
        marks=tuple(ChunkMark(*mark) for mark in marks),
        provenance=provenance or Authored(SOURCE),
        twin=twin,
    )


FRAMED: Mapping[str, tuple[str, Framing, bytes]] = {
    "google-sse": (
        "google-generate",
        "sse",
        'data: {"candidates":[{"content":{"parts":[{"text":"Grüß"}]}}]}\r\n\r\n'
        'data: {"candidates":[{"content":{"parts":[{"text":" \\u00fc"}]},"finishReason":"STOP"}],'
        '"usageMetadata":{"promptTokenCount":9}}\r\n\r\n'.encode(),
    ),
    "google-array": (
        "google-generate",
        "json_array",
        '[{"candidates": [{"content": {"parts": [{"text": "Grüß ]\\" {"}]}}]}\n,\r\n'
        '{"candidates": [{"content": {"parts": [{"text": "dich"}]}, "finishReason": "STOP"}],\n'
        '  "usageMetadata": {"promptTokenCount": 9, "n": 1.50}}\n]\n'.encode(),
    ),
    "ollama": (
        "ollama-chat",
        "ndjson",
        '{"model":"m","message":{"role":"assistant","content":"Grüß"},"done":false}\n'
        '{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f",'
        '"arguments":{"b":1,"a":2}}}]},"done":false}\r\n'
        '{"model":"m","message":{"role":"assistant","content":""},"done":true,"eval_count":3}'.encode(),
    ),
    "cohere-v2": (
        "cohere-chat",
        "sse",
        'event: message-start\ndata: {"type":"message-start","id":"1"}\n\n'
        'event: content-delta\ndata: {"type":"content-delta","index":0,"delta":{"message":{"content":'
        '{"text":"Grüß"}}}}\n\nevent: message-end\ndata: {"type":"message-end","delta":{"finish_reason":'
        '"COMPLETE","usage":{"billed_units":{"input_tokens":1}}}}\n\n'.encode(),
    ),
    "cohere-v1": (
        "cohere-chat",
        "ndjson",
        '{"is_finished":false,"event_type":"text-generation","text":"Grüß"}\n\n'
        '{"is_finished":true,"event_type":"stream-end","response":{"text":"Grüß"}}\n'.encode(),
    ),
    "bedrock": (
        "bedrock-converse",
        "eventstream",
        eventstream.encode_event(b'{"role":"assistant","p":"abc"}', "messageStart")
        + eventstream.encode_event(
            '{"contentBlockIndex":0,"delta":{"text":"Grüß"}}'.encode(), "contentBlockDelta"
        )
        + eventstream.encode_event(b'{"stopReason":"end_turn"}', "messageStop")
        + eventstream.encode_event(b'{"message":"slow down"}', "throttlingException", "exception"),
    ),
    "bedrock-invoke": (
        "bedrock-invoke",
        "invoke_stream",
        invoke_stream.write_chunks(
            (
                b'{"type":"message_start","message":{"id":"msg_bdrk_1","usage":{"input_tokens":9}}}',
                b'{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
                '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Grüß"}}'.encode(),
            )
        )
        + eventstream.encode_event(b'{"message":"slow down"}', "throttlingException", "exception"),
    ),
}
"""A small stream in every framing, for the APIs with framings other than SSE: API, framing and body, by name.
"""


def framed_cassettes() -> tuple[Cassette, ...]:
    return tuple(cassette(body, api=api, name=name) for name, (api, _, body) in FRAMED.items())


def case(
    expect: Mapping[str, Any] | None = None,
    body: bytes | None = None,
    *,
    id: str = f"{ANTHROPIC}/text/small",  # noqa: A002 - the field's name
    level: Level = "must",
    status: int = 200,
    marks: Sequence[tuple[int, int]] = (),
    skip: Skip | None = None,
    pricing: Mapping[str, Any] | None = None,
) -> Case:
    return Case(
        id=id,
        api=ANTHROPIC,
        title="A small case",
        cassette=cassette(body, status=status, marks=marks),
        expect=expectation.parse(expect or TEXT_EXPECT),
        level=level,
        skip=skip,
        pricing=pricing,
    )


def trial(of: Case | None = None, chunks: Sequence[bytes] | None = None, *, delivery: str = "whole") -> Trial:
    of = of or case()
    return Trial(of, delivery, of.level, Delivered(tuple(chunks) if chunks else (of.cassette.body,)))


def call(
    given: Any = "{",
    expect: Literally | AnyOf = Literally({}),  # noqa: B008 - frozen
    *,
    kind: Kind = "partial",
    id: str = "common/partial/small",  # noqa: A002 - the field's name
    level: Level = "must",
) -> Call:
    head = {"api": None, "title": "A small call", "level": level}
    return Call(CallCase(id=id, kind=kind, input=given, expect=expect, **head))


def result(
    verdict: Verdict = "pass",
    *,
    case: str = "openai-chat/text/one",
    delivery: str | None = "as-is",
    **fields: Any,
) -> TrialResult:
    """Return the result of a trial, by default of one that passed."""
    head = {"implementation": 0, "level": "must", "culprit": None, "ms": 1.0}
    id_ = f"{case}@{delivery}" if delivery else case
    return TrialResult(id=id_, case=case, delivery=delivery, verdict=verdict, **{**head, **fields})


def info(name: str = "mine", **fields: Any) -> ImplementationInfo:
    head = {"version": "1", "language": None, "issues": None, "impl": "mypkg", "input": "bytes"}
    return ImplementationInfo(name=name, **{**head, **fields})


def results(
    *trials: TrialResult,
    infos: Sequence[ImplementationInfo] = (info(),),
    footer: Footer | None = None,
    **fields: Any,
) -> Results:
    """Return the results of a whole run, whose header has `fields`."""
    head = {"version": "0.1.0", "cases": 1, "trials": len(trials), "selection": {}, "seed": 0}
    whole = Footer(counts=Counter(trial.verdict for trial in trials), exit=0, complete=True)
    return Results(Header(implementations=tuple(infos), **{**head, **fields}), trials, footer or whole)


def program(folder: Path, code: str, *, name: str = "program.py") -> Connection:
    """Return the connection to a new program that runs `code` in `folder`."""
    path = folder / name
    path.write_text(PRELUDE + code, "utf-8")
    return Connection(f"cmd:{name}", (sys.executable, "-S", str(path)))


PRELUDE = """\
import json, os, sys, time

def read():
    line = sys.stdin.readline()
    return json.loads(line) if line else {"op": "stop"}

def write(**message):
    sys.stdout.write(json.dumps(message) + "\\n")
    sys.stdout.flush()

def greet(**more):
    read()
    write(op="hello", protocol=1, implementation={"name": "broken"}, **more)

GOOD = {"status": "complete", "content": []}

"""
"""The beginning of every program under test; `-S` because starting without site is faster."""


@dataclass(frozen=True)
class Catalog:
    """A catalog of cases in memory."""

    cases: tuple

    @property
    def ids(self):
        return tuple(case.id for case in self.cases)

    def load(self, ids):
        return tuple(case for case in self.cases if case.id in ids)


def catalog(cases):
    return Catalog(tuple(cases))
