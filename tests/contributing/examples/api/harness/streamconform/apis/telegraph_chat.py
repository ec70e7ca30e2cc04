"""Telegraph's chat: `POST /telegraph/chat`. A fictional API, the example of CONTRIBUTING.md."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from streamconform.apis.api import (
    Api,
    CannedReply,
    Ending,
    Endpoints,
    Extensions,
    Importing,
    Json,
    Key,
    Probing,
    Recording,
    RequestForm,
    SmokeStreams,
    require,
)
from streamconform.apis.payloads import Payload
from streamconform.apis.request_forms import drop_nulls
from streamconform.wire import ndjson
from streamconform.wire.reframe import write_lines

_DOCUMENTATION: Final = "https://telegraph.example/docs/chat"
_ERROR: Final = "the line is down"


def _is_terminal(payload: Payload) -> bool:
    return payload.get("type") in ("end", "error")


def _count_ended_calls(payloads: Sequence[Payload]) -> int:
    return sum(payload.get("type") == "call" for payload in payloads)  # every call is one record


def _stream(model: str) -> Iterator[Json]:
    yield {"type": "text", "text": "OK"}
    yield {"type": "end", "model": model, "reason": "done", "usage": {"sent": 9, "received": 2}}


def _document(model: str) -> Json:
    return {"records": list(_stream(model))}


API: Final = Api(
    name="telegraph-chat",
    title="Telegraph chat",
    extensions=Extensions(
        event={"ndjson": ndjson.encode_line(b'{"type":"future_record","n":1}')},
        event_level="must",
        objects=((), ("usage",)),
        field_level="must",
        source=_DOCUMENTATION,
    ),
    write=write_lines,
    ending=Ending(
        is_terminal=_is_terminal,
        count_ended_calls=_count_ended_calls,
        content=(),
        text_keys=("text",),
        delta_keys=("name",),
        error_frame={"ndjson": ndjson.encode_line(b'{"type":"error","message":"the line is down"}')},
        error_type=None,
        error_message=_ERROR,
        source=_DOCUMENTATION,
    ),
    endpoints=Endpoints(streams=("/telegraph/chat",), streams_by_default=True),
    canned_replies=(
        CannedReply(
            path="/telegraph/chat",
            content_type="application/x-ndjson",
            write=write_lines,
            payloads=_stream,
            document=_document,
        ),
    ),
    requests=RequestForm(
        canonical=drop_nulls,
        instructions=("tools",),
        thoughts=frozenset(),
        call_ids=(("messages", "*", "call", "id"),),
    ),
    key=Key(header="authorization", prefix="Bearer ", variable="TELEGRAPH_API_KEY"),
    recording=Recording(),
    importing=Importing(stream=re.compile(r"/telegraph/chat/?$"), path="/telegraph/chat"),
    probing=Probing(answer=require("list", "records"), error=require("name", "message")),
    smoke=SmokeStreams(
        text_cassette="text",
        text="Arriving Tuesday stop",
        call_cassette="one-call",
        call_name="get_weather",
        call_arguments={"city": "Oslo"},
    ),
)
