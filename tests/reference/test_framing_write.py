"""Each framing reads payloads unchanged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamconform.wire import eventstream, json_array, ndjson
from streamconform_reference.framing import Framing
from streamconform_reference.framing.aws_eventstream import EventStreamFraming
from streamconform_reference.framing.json_array import JsonArrayFraming
from streamconform_reference.framing.ndjson import NdjsonFraming
from streamconform_reference.framing.sse import SseFraming
from streamconform_reference.framing.write import SSE_COMMENT, sse
from streamconform_reference.json_text.codec import dumps, loads

HEADERS = {":message-type": "event", ":event-type": "messageStart", ":content-type": "application/json"}
LINE_ENDS = "a\nb\r\nc\rd\u2028e\u2029f\x85g\x0bh\x0ci\x1cj"


def as_array(payloads: Sequence[Any]) -> bytes:
    return b"[" + json_array.SEPARATOR.join(map(dumps, payloads)) + b"]"


def as_message(payload: Any) -> bytes:
    return eventstream.encode_event(dumps(payload), "messageStart")


def each(write: Callable[[Any], bytes]) -> Callable[[Sequence[Any]], bytes]:
    return lambda payloads: b"".join(write(payload) for payload in payloads)


WRITERS: dict[str, tuple[Callable[[], Framing], Callable[[Sequence[Any]], bytes]]] = {
    "sse": (SseFraming, each(sse)),
    "named sse": (SseFraming, each(lambda payload: sse(payload, "delta"))),
    "sse with comments": (SseFraming, each(lambda payload: SSE_COMMENT + sse(payload) + SSE_COMMENT)),
    "ndjson": (NdjsonFraming, each(lambda payload: ndjson.encode_line(dumps(payload)))),
    "json array": (JsonArrayFraming, as_array),
    "event stream": (EventStreamFraming, each(as_message)),
}
PAYLOADS = st.dictionaries(st.text(max_size=4), st.text(max_size=6) | st.integers(), max_size=3)


@pytest.mark.parametrize("name", WRITERS)
@given(
    payloads=st.lists(
        PAYLOADS | st.just({"text": LINE_ENDS}) | st.just({"half": "\ud83d"}), min_size=1, max_size=4
    )
)
def test_payloads_come_back(name: str, payloads: list[Any]) -> None:
    factory, write = WRITERS[name]
    framing = factory()
    frames = [*framing.receive(write(payloads)), *framing.end()]
    assert framing.fault is None
    assert framing.recognised
    assert [loads(frame.data) for frame in frames] == payloads


def test_an_event_has_its_name() -> None:
    (frame,) = SseFraming().receive(sse({}, "ping"))
    assert frame.event == b"ping"


def test_a_message_has_its_headers() -> None:
    (frame,) = EventStreamFraming().receive(as_message({}))
    assert frame.event == b"messageStart"
    assert dict(frame.headers) == HEADERS
