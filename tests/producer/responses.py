"""A small valid server of OpenAI Responses over WebSockets, and mistakes to plant in what it sends."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from streamconform.wire.websocket import encode_frame

from ..record.sockets import End, Json, SocketServer, Step, serving_sockets
from .servers import MODEL

USAGE = {
    "input_tokens": 9,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 14,
}


def keep(value):
    return value


@dataclass(frozen=True)
class SocketMistake:
    """The mistakes of a server; the default of each field makes none."""

    events: Callable[[list[Json]], list[Json]] = keep
    """Changes the events of an answer."""
    frames: Callable[[list[Step]], list[Step]] = keep
    """Changes the frames of an answer."""
    refusal: Callable[[Json], list[Step]] | None = None
    """Returns what is sent in place of an error."""
    forgets: bool = False
    """Whether the server does not find the response before."""
    pongs: bool = True
    closes: bool = True
    """Whether a close frame is answered with one."""
    handshake: Callable[[bytes], tuple[int, Json] | None] | None = None
    """Returns the status and the document of a refused handshake."""


def frame(event: Json) -> bytes:
    return encode_frame(json.dumps(event, ensure_ascii=False).encode())


def answer(body: Json, id_: str) -> list[Json]:
    """Return the events of a legal answer."""
    choice, tools = body.get("tool_choice", "auto"), body.get("tools", ())
    named = choice.get("name") if isinstance(choice, dict) else None
    is_call = bool(tools) and (choice == "required" or named is not None)
    is_cut = not is_call and body.get("max_output_tokens", 99) <= 16
    if is_call:
        tool = next((tool for tool in tools if tool["name"] == named), tools[0])
        values = {"city": "Paris", "text": 'Grüße "東京" 🚆 \\ Ende', "lines": [{"bold": True}]}
        properties = tool["parameters"].get("properties", {})
        text = json.dumps({key: values[key] for key in properties}, ensure_ascii=False)
        item = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": tool["name"]}
        events = call_events(item, text)
    else:
        events = text_events("Four.") if body.get("generate", True) else []
    status = "incomplete" if is_cut else "completed"
    begun = {
        "id": id_,
        "object": "response",
        "created_at": 1,
        "model": body["model"],
        "status": "in_progress",
    }
    output = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    ended = {**begun, "status": status, "output": output, "usage": USAGE, "incomplete_details": None}
    if is_cut:
        ended["incomplete_details"] = {"reason": "max_output_tokens"}
    whole = [
        {"type": "response.created", "response": {**begun, "output": []}},
        *events,
        {"type": f"response.{status}", "response": ended},
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(whole)]


def text_events(text: str) -> list[Json]:
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {"id": "msg_1", "type": "message", "role": "assistant"}
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    return [
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
        *({"type": "response.output_text.delta", **place, "delta": piece} for piece in (text[:2], text[2:])),
        {"type": "response.output_text.done", **place, "text": text},
        {"type": "response.content_part.done", **place, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": {**item, "content": [part]}},
    ]


def call_events(item: Json, text: str) -> list[Json]:
    place = {"item_id": "fc_1", "output_index": 0}
    kind = "response.function_call_arguments"
    return [
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "arguments": ""}},
        *({"type": f"{kind}.delta", **place, "delta": piece} for piece in (text[:3], text[3:])),
        {"type": f"{kind}.done", **place, "arguments": text},
        {"type": "response.output_item.done", "output_index": 0, "item": {**item, "arguments": text}},
    ]


def find_error(message: str, known: set[str]) -> Json | None:
    """Return the error for a message, or None for a good one."""

    def refuse(status: int, text: str) -> Json:
        error = {"type": "invalid_request_error", "code": "invalid", "message": text, "param": None}
        return {"type": "error", "status": status, "error": error}

    try:
        body = json.loads(message)
    except ValueError:
        return refuse(400, "the message is not JSON")
    if body["type"] != "response.create" or "stream" in body:
        return refuse(400, "only response.create, without stream")
    if "input" not in body:
        return refuse(400, "input is missing")
    if body["model"] != MODEL:
        return refuse(404, "no such model")
    if "no-such-type" in message:
        return refuse(400, "a type that does not exist")
    if body.get("reasoning"):
        return refuse(400, "this model does not think")
    if body.get("previous_response_id", next(iter(known), None)) not in (None, *known):
        return refuse(400, "previous response not found")
    return None


@contextmanager
def serve_responses(mistake: SocketMistake | None = None, key: str | None = None) -> Iterator[SocketServer]:
    """Serve the API until the context ends, with `mistake` if given; `key` is required if given."""
    made = mistake or SocketMistake()
    known: set[str] = set()
    numbers = itertools.count(1)

    def reply(message: str) -> list[Step]:
        error = find_error(message, set() if made.forgets else known)
        if error is not None:
            return [frame(error)] if made.refusal is None else made.refusal(error)
        id_ = f"resp_{next(numbers)}"
        known.add(id_)
        return made.frames([frame(event) for event in made.events(answer(json.loads(message), id_))])

    def refuse(head: bytes) -> tuple[int, Json] | None:
        if key is not None and f"Bearer {key}".encode() not in head:
            return 401, {"error": {"type": "invalid_request_error", "message": "wrong key"}}
        return made.handshake(head) if made.handshake is not None else None

    with serving_sockets(reply, refuse=refuse, pongs=made.pongs, closes=made.closes) as server:
        yield server


END = End()
