"""Small valid servers of two APIs on loopback, and mistakes to plant in their answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..record.server import Server, Step, document, replying, stream

MAX_REQUESTS = 64
MODEL = "small"
Json = dict[str, Any]
Edit = Callable[[list[Json]], list[Json]]


@dataclass(frozen=True)
class RequestFacts:
    """The content of a request, in no API's words."""

    model: str
    limit: int
    stop: bool
    tools: list[Json]
    required: bool
    named: str | None
    results: bool

    def call(self) -> Json | None:
        """Return the name and arguments of the required call, or None."""
        if not (self.tools and self.required):
            return None
        tool = next((tool for tool in self.tools if tool["name"] == self.named), self.tools[0])
        values = {"city": "Paris", "text": 'Grüße "東京" 🚆 \\ Ende', "lines": [{"bold": True}]}
        properties = tool["schema"].get("properties", {})
        return {"name": tool["name"], "arguments": {key: values[key] for key in properties}}

    @property
    def reason(self) -> str:
        return "call" if self.call() else "length" if self.limit <= 16 else "stop" if self.stop else "end"


# --- Anthropic Messages


def read_anthropic_request(body: Json) -> RequestFacts:
    choice = body.get("tool_choice", {})
    return RequestFacts(
        model=body["model"],
        limit=body["max_tokens"],
        stop="stop_sequences" in body,
        tools=[{"name": tool["name"], "schema": tool["input_schema"]} for tool in body.get("tools", ())],
        required=choice.get("type") in ("any", "tool"),
        named=choice.get("name"),
        results=False,
    )


ANTHROPIC_REASONS = {"call": "tool_use", "length": "max_tokens", "stop": "stop_sequence", "end": "end_turn"}


def make_anthropic_document(facts: RequestFacts, body: Json) -> Json:
    call = facts.call()
    block = (
        {"type": "tool_use", "id": "toolu_01", "name": call["name"], "input": call["arguments"]}
        if call
        else {"type": "text", "text": "Four."}
    )
    return {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": facts.model,
        "content": [block],
        "stop_reason": ANTHROPIC_REASONS[facts.reason],
        "stop_sequence": None,
        "usage": {"input_tokens": len(json.dumps(body["messages"])), "output_tokens": 5},
    }


def make_anthropic_events(facts: RequestFacts, body: Json) -> list[Json]:
    document = make_anthropic_document(facts, body)
    (block,) = document["content"]
    if block["type"] == "tool_use":
        text = json.dumps(block["input"], ensure_ascii=False)
        pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", text[:3], text[3:])]
        start = block | {"input": {}}
    else:
        pieces = [{"type": "text_delta", "text": piece} for piece in ("Fo", "ur.")]
        start = {"type": "text", "text": ""}
    message = document | {
        "content": [],
        "stop_reason": None,
        "usage": document["usage"] | {"output_tokens": 1},
    }
    end = {"stop_reason": document["stop_reason"], "stop_sequence": None}
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "ping"},
        *({"type": "content_block_delta", "index": 0, "delta": piece} for piece in pieces),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]


def write_anthropic_sse(events: list[Json]) -> bytes:
    frames = ((event.get("type", "message"), json.dumps(event, ensure_ascii=False)) for event in events)
    return b"".join(f"event: {name}\ndata: {data}\n\n".encode() for name, data in frames)


def make_anthropic_error(kind: str, message: str) -> Json:
    return {"type": "error", "error": {"type": kind, "message": message}}


# --- OpenAI Chat


def read_chat_request(body: Json) -> RequestFacts:
    choice = body.get("tool_choice")
    functions = [tool["function"] for tool in body.get("tools", ())]
    return RequestFacts(
        model=body["model"],
        limit=body["max_completion_tokens"],
        stop="stop" in body,
        tools=[{"name": function["name"], "schema": function["parameters"]} for function in functions],
        required=choice == "required" or isinstance(choice, dict),
        named=choice["function"]["name"] if isinstance(choice, dict) else None,
        results=False,
    )


CHAT_REASONS = {"call": "tool_calls", "length": "length", "stop": "stop", "end": "stop"}
CHAT_USAGE = {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}


def make_chat_document(facts: RequestFacts, _: Json) -> Json:
    call = facts.call()
    message: Json = {"role": "assistant", "content": None if call else "Four."}
    if call:
        function = {"name": call["name"], "arguments": json.dumps(call["arguments"])}
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
    choice = {"index": 0, "message": message, "finish_reason": CHAT_REASONS[facts.reason]}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": facts.model}
    return head | {"choices": [choice], "usage": CHAT_USAGE}


def make_chat_events(facts: RequestFacts, body: Json) -> list[Json]:
    document = make_chat_document(facts, body)
    ((choice),) = document["choices"]
    head = {key: document[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    deltas: list[Json] = [{"role": "assistant", "content": None if facts.call() else ""}]
    for call in choice["message"].get("tool_calls", ()):
        text = call["function"]["arguments"]
        first = call | {"index": 0, "function": call["function"] | {"arguments": ""}}
        pieces = [{"index": 0, "function": {"arguments": piece}} for piece in (text[:1], text[1:])]
        deltas += [{"tool_calls": [fragment]} for fragment in (first, *pieces)]
    if not facts.call():
        deltas += [{"content": "Fo"}, {"content": "ur."}]
    deltas_and_reasons = [(delta, None) for delta in deltas] + [({}, choice["finish_reason"])]
    chunks = [
        head | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}], "usage": None}
        for delta, reason in deltas_and_reasons
    ]
    return [*chunks, head | {"choices": [], "usage": CHAT_USAGE}, {"done": True}]


def write_chat_sse(events: list[Json]) -> bytes:
    payloads = ("[DONE]" if "done" in event else json.dumps(event, ensure_ascii=False) for event in events)
    return b"".join(f"data: {payload}\n\n".encode() for payload in payloads)


def make_chat_error(kind: str, message: str) -> Json:
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


APIS = {
    "anthropic-messages": (
        read_anthropic_request,
        make_anthropic_document,
        make_anthropic_events,
        write_anthropic_sse,
        make_anthropic_error,
    ),
    "openai-chat": (
        read_chat_request,
        make_chat_document,
        make_chat_events,
        write_chat_sse,
        make_chat_error,
    ),
}


def keep(value: Any) -> Any:
    return value


def encode_error(status: bytes, error: Json) -> tuple[bytes, bytes]:
    return status, json.dumps(error).encode()


def make_count(count: int) -> Json:
    return {"input_tokens": count}


@dataclass(frozen=True)
class ServerMistake:
    """The mistakes of a server; the default of each field makes none."""

    events: Edit = keep
    body: Callable[[bytes], bytes] = keep
    document: Callable[[Json], Json] = keep
    refusal: Callable[[bytes, Json], tuple[bytes, bytes]] = encode_error
    count: Callable[[int], Any] = make_count


@contextmanager
def serve_api(api: str, mistake: ServerMistake | None = None) -> Iterator[Server]:
    """Serve `api` until the context ends, with `mistake` if given."""
    answer = make_answerer(api, mistake or ServerMistake())
    with replying(*[answer] * MAX_REQUESTS) as server:
        yield server


def make_answerer(api: str, mistake: ServerMistake) -> Callable[[bytes], tuple[Step, ...]]:
    read_request, make_document, make_events, write_sse, make_error = APIS[api]

    def refuse(status: bytes, kind: str, message: str) -> tuple[Step, ...]:
        return _close_after(document(*mistake.refusal(status, make_error(kind, message))))

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
            return _close_after(document(b"200 OK", json.dumps(mistake.count(len(raw))).encode()))
        if body.get("thinking") or body.get("reasoning_effort"):
            return refuse(b"400 Bad Request", "invalid_request_error", "this model does not think")
        facts = read_request(body)
        if body.get("stream"):
            return stream(
                mistake.body(write_sse(mistake.events(make_events(facts, body)))),
                headers=b"Connection: close\r\n",
            )
        return _close_after(
            document(b"200 OK", json.dumps(mistake.document(make_document(facts, body))).encode())
        )

    return answer


def _close_after(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    return tuple(
        step.replace(b"\r\n", b"\r\nConnection: close\r\n", 1) if isinstance(step, bytes) else step
        for step in steps
    )
