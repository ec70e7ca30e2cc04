"""Small legal servers of two apis on loopback, and ways to break what they send."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..record.server import Server, Step, document, replying, stream

MOST_REQUESTS = 64
MODEL = "small"
Json = dict[str, Any]
Edit = Callable[[list[Json]], list[Json]]


@dataclass(frozen=True)
class Asked:
    """What a request asks for, in no api's words."""

    model: str
    limit: int
    stop: bool
    tools: list[Json]
    required: bool
    named: str | None
    results: bool

    def call(self) -> Json | None:
        """Return the arguments and the name of the call that is due."""
        if not (self.tools and self.required):
            return None
        tool = next((each for each in self.tools if each["name"] == self.named), self.tools[0])
        values = {"city": "Paris", "text": 'Grüße "東京" 🚆 \\ Ende', "lines": [{"bold": True}]}
        wanted = tool["schema"].get("properties", {})
        return {"name": tool["name"], "arguments": {key: values[key] for key in wanted}}

    @property
    def reason(self) -> str:
        return "call" if self.call() else "length" if self.limit <= 16 else "stop" if self.stop else "end"


# --- Anthropic Messages


def anthropic_asked(body: Json) -> Asked:
    choice = body.get("tool_choice", {})
    return Asked(
        model=body["model"],
        limit=body["max_tokens"],
        stop="stop_sequences" in body,
        tools=[{"name": each["name"], "schema": each["input_schema"]} for each in body.get("tools", ())],
        required=choice.get("type") in ("any", "tool"),
        named=choice.get("name"),
        results=False,
    )


ANTHROPIC_REASONS = {"call": "tool_use", "length": "max_tokens", "stop": "stop_sequence", "end": "end_turn"}


def anthropic_document(asked: Asked, body: Json) -> Json:
    call = asked.call()
    block = (
        {"type": "tool_use", "id": "toolu_01", "name": call["name"], "input": call["arguments"]}
        if call
        else {"type": "text", "text": "Four."}
    )
    return {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": [block],
        "stop_reason": ANTHROPIC_REASONS[asked.reason],
        "stop_sequence": None,
        "usage": {"input_tokens": len(json.dumps(body["messages"])), "output_tokens": 5},
    }


def anthropic_events(asked: Asked, body: Json) -> list[Json]:
    whole = anthropic_document(asked, body)
    (block,) = whole["content"]
    if block["type"] == "tool_use":
        text = json.dumps(block["input"], ensure_ascii=False)
        pieces = [{"type": "input_json_delta", "partial_json": each} for each in ("", text[:3], text[3:])]
        start = block | {"input": {}}
    else:
        pieces = [{"type": "text_delta", "text": each} for each in ("Fo", "ur.")]
        start = {"type": "text", "text": ""}
    begun = whole | {"content": [], "stop_reason": None, "usage": whole["usage"] | {"output_tokens": 1}}
    end = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    return [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "ping"},
        *({"type": "content_block_delta", "index": 0, "delta": each} for each in pieces),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]


def anthropic_sse(events: list[Json]) -> bytes:
    told = ((each.get("type", "message"), json.dumps(each, ensure_ascii=False)) for each in events)
    return b"".join(f"event: {name}\ndata: {data}\n\n".encode() for name, data in told)


def anthropic_error(kind: str, message: str) -> Json:
    return {"type": "error", "error": {"type": kind, "message": message}}


# --- OpenAI Chat


def chat_asked(body: Json) -> Asked:
    choice = body.get("tool_choice")
    functions = [each["function"] for each in body.get("tools", ())]
    return Asked(
        model=body["model"],
        limit=body["max_completion_tokens"],
        stop="stop" in body,
        tools=[{"name": each["name"], "schema": each["parameters"]} for each in functions],
        required=choice == "required" or isinstance(choice, dict),
        named=choice["function"]["name"] if isinstance(choice, dict) else None,
        results=False,
    )


CHAT_REASONS = {"call": "tool_calls", "length": "length", "stop": "stop", "end": "stop"}
CHAT_USAGE = {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}


def chat_document(asked: Asked, _: Json) -> Json:
    call = asked.call()
    message: Json = {"role": "assistant", "content": None if call else "Four."}
    if call:
        function = {"name": call["name"], "arguments": json.dumps(call["arguments"])}
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
    choice = {"index": 0, "message": message, "finish_reason": CHAT_REASONS[asked.reason]}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": asked.model}
    return head | {"choices": [choice], "usage": CHAT_USAGE}


def chat_events(asked: Asked, body: Json) -> list[Json]:
    whole = chat_document(asked, body)
    ((choice),) = whole["choices"]
    head = {key: whole[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    deltas: list[Json] = [{"role": "assistant", "content": None if asked.call() else ""}]
    for call in choice["message"].get("tool_calls", ()):
        text = call["function"]["arguments"]
        first = call | {"index": 0, "function": call["function"] | {"arguments": ""}}
        pieces = [{"index": 0, "function": {"arguments": each}} for each in (text[:1], text[1:])]
        deltas += [{"tool_calls": [each]} for each in (first, *pieces)]
    if not asked.call():
        deltas += [{"content": "Fo"}, {"content": "ur."}]
    made = [(each, None) for each in deltas] + [({}, choice["finish_reason"])]
    chunks = [
        head | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}], "usage": None}
        for delta, reason in made
    ]
    return [*chunks, head | {"choices": [], "usage": CHAT_USAGE}, {"done": True}]


def chat_sse(events: list[Json]) -> bytes:
    told = ("[DONE]" if "done" in each else json.dumps(each, ensure_ascii=False) for each in events)
    return b"".join(f"data: {each}\n\n".encode() for each in told)


def chat_error(kind: str, message: str) -> Json:
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


APIS = {
    "anthropic-messages": (
        anthropic_asked,
        anthropic_document,
        anthropic_events,
        anthropic_sse,
        anthropic_error,
    ),
    "openai-chat": (chat_asked, chat_document, chat_events, chat_sse, chat_error),
}


def as_it_is(given: Any) -> Any:
    return given


def refused(status: bytes, error: Json) -> tuple[bytes, bytes]:
    return status, json.dumps(error).encode()


def counted(count: int) -> Json:
    return {"input_tokens": count}


@dataclass(frozen=True)
class Broken:
    """What a server does wrong; each part leaves everything else as it is."""

    events: Edit = as_it_is
    body: Callable[[bytes], bytes] = as_it_is
    document: Callable[[Json], Json] = as_it_is
    refusal: Callable[[bytes, Json], tuple[bytes, bytes]] = refused
    count: Callable[[int], Any] = counted


@contextmanager
def serving(api: str, broken: Broken | None = None) -> Iterator[Server]:
    """Serve `api` until the context ends; a legal server unless it is broken."""
    answer = _answerer(api, broken or Broken())
    with replying(*[answer] * MOST_REQUESTS) as server:
        yield server


def _answerer(api: str, broken: Broken) -> Callable[[bytes], tuple[Step, ...]]:
    read, whole, events, framed, error = APIS[api]

    def refuse(status: bytes, kind: str, message: str) -> tuple[Step, ...]:
        return _closing(document(*broken.refusal(status, error(kind, message))))

    def answer(request: bytes) -> tuple[Step, ...]:
        head, _, raw = request.partition(b"\r\n\r\n")
        try:
            body = json.loads(raw)
        except ValueError:
            return refuse(b"400 Bad Request", "invalid_request_error", "the body is not JSON")
        if "messages" not in body:
            return refuse(b"400 Bad Request", "invalid_request_error", "messages: Field required")
        if body["model"] != MODEL:
            return refuse(b"404 Not Found", "not_found_error", f"model: {body['model']}")
        if b"no-such-type" in raw:
            return refuse(b"400 Bad Request", "invalid_request_error", "a type that does not exist")
        if b"count_tokens" in head.split(b"\r\n")[0]:
            return _closing(document(b"200 OK", json.dumps(broken.count(len(raw))).encode()))
        if body.get("thinking") or body.get("reasoning_effort"):
            return refuse(b"400 Bad Request", "invalid_request_error", "this model does not think")
        asked = read(body)
        if body.get("stream"):
            return stream(
                broken.body(framed(broken.events(events(asked, body)))), headers=b"Connection: close\r\n"
            )
        return _closing(document(b"200 OK", json.dumps(broken.document(whole(asked, body))).encode()))

    return answer


def _closing(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    return tuple(
        each.replace(b"\r\n", b"\r\nConnection: close\r\n", 1) if isinstance(each, bytes) else each
        for each in steps
    )
