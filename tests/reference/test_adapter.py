"""The reference's interfaces: a generator, snapshots, and a program on stdin and stdout."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from streamconform.model.capability import OF_STREAMS
from streamconform_dev.fuzz.exchange import PRICES, Exchange, decode
from streamconform_reference import DECODERS, __version__, adapter, snapshots

from .streams import STREAMS, ends, says, sse, start, stop, text


def test_events_are_emitted_before_the_next_chunk_is_read() -> None:
    seen: list[str] = []

    def chunks() -> Iterator[bytes]:
        yield sse(start(), text(), says("first"))
        seen.append("second chunk")
        yield sse(says("second"))

    for event in adapter(Exchange(chunks())):
        if "delta" in event:
            seen += [event["delta"]]
    assert seen == ["first", "second chunk", "second"]


def test_the_adapter_describes_itself() -> None:
    assert adapter.info["name"] == "streamconform-reference"
    assert adapter.info["version"] == __version__
    assert adapter.apis == list(DECODERS)
    assert adapter.inputs == ["bytes"]
    assert {"cost", "heal", "partial_json"} <= set(adapter.capabilities)


def test_the_reference_claims_every_stream_capability() -> None:
    assert OF_STREAMS - set(adapter.capabilities) == set()


def test_snapshots_are_the_outcome_after_each_frame() -> None:
    body = sse(start(), text(), says("a"), says("b"), stop(), ends("end_turn", output_tokens=9))
    taken = list(snapshots(Exchange([b": hi\n\n", body]), [0, 2, 3, 5, 99]))
    assert [[block["text"] for block in state["content"]] for state in taken] == [
        *([], ["a"], ["ab"], ["ab"], ["ab"])
    ]
    assert [state["usage"]["output"] for state in taken] == [1, 1, 1, 9, 9]
    assert [state["stop"]["reason"] for state in taken] == [None, None, None, "stop", "stop"]
    assert {state["status"] for state in taken} == {"incomplete"}


@pytest.mark.parametrize("name", sorted(STREAMS))
def test_the_last_snapshot_of_a_complete_stream_is_its_outcome(name: str) -> None:
    whole = decode(STREAMS[name]).outcome
    (last,) = snapshots(Exchange([STREAMS[name]]), [10_000])
    assert last == whole


def test_snapshots_of_an_error_document_have_nothing_to_show() -> None:
    (state,) = snapshots(Exchange([sse(start())], status=500), [0])
    assert state["content"] == []
    assert state["usage"] is None


def talk(*lines: Any) -> list[dict[str, Any]]:
    """Return the program's replies to these messages or raw lines."""
    sent = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    done = subprocess.run(
        [sys.executable, "-m", "streamconform_reference"],
        input=b"".join(line + b"\n" for line in sent),
        capture_output=True,
        check=True,
        timeout=60,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def run(number: str, body: bytes, **fields: Any) -> dict[str, Any]:
    chunks = [base64.b64encode(body[:50]).decode(), base64.b64encode(body[50:]).decode()]
    given = {"mode": "bytes", "status": 200, "headers": {}, "chunks": chunks}
    message = {"op": "run", "id": number, "api": "anthropic-messages", "input": given}
    return {**message, "request": None, "pricing": PRICES, "want": ["outcome"], **fields}


def test_the_program_answers_every_message_and_survives_bad_ones() -> None:
    body = STREAMS["text"]
    half = b'data: {"type":"content_block_start","index":0,"content_block":'
    half += b'{"type":"text","text":"\\ud800x"}}\n\n'
    answers = talk(
        {"op": "hello", "protocol": 1, "harness": "0", "new": 1},
        b"not json",
        b"[]",
        {"op": "run", "id": "1", "api": "anthropic-messages"},
        run("2", body, want=["outcome", "events"], new=1),
        run("3", body),
        run("4", body, api="no-such-api"),
        run("5", body, input={"mode": "http", "base_url": "x", "api_key": "y"}),
        {"op": "call", "id": "6", "function": "heal", "api": None, "input": '{"a":1}'},
        {"op": "call", "id": "9", "function": "no-such-function", "input": {}},
        {"op": "new-op"},
        run("7", half),
        {"op": "stop"},
        run("8", body),
    )
    hello, bad, events, plain, api, mode, call, function, surrogate = answers
    assert (hello["op"], hello["protocol"], hello["implementation"]) == ("hello", 1, adapter.info)
    assert bad["errored"]["message"] == "KeyError('input')"
    expected = decode(body)
    assert (events["outcome"], events["events"]) == (expected.outcome, expected.events)
    assert plain == {"op": "result", "id": "3", "outcome": expected.outcome}
    assert api["skipped"] == {"reason": "does not support API no-such-api"}
    assert mode["skipped"] == {"reason": "does not support input mode http"}
    assert call == {"op": "result", "id": "6", "output": {"a": 1}}
    assert function["skipped"] == {"reason": "does not support function no-such-function"}
    assert surrogate["outcome"]["content"][0]["text"] == "\ud800x"


def test_importing_the_package_loads_no_mutant_and_nothing_of_the_harness() -> None:
    code = (
        "import sys, streamconform_reference\n"
        "print([m for m in sys.modules if 'mutants' in m or m.split('.')[0] == 'streamconform'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout == "[]\n"
