"""A run as a harness passes it, and the reference's result for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from streamconform_dev.fuzz import chunkings
from streamconform_reference import adapter as reference

PRICES = {
    "input": "3.00",
    "output": "15.00",
    "cache_read": "0.30",
    "cache_write_5m": "3.75",
    "cache_write_1h": "6.00",
    "web_search_per_1000": "10",
    "speed": {"fast": "2"},
    "inference_geo": {"us": "1.1"},
    "service_tier": {"flex": "0.5"},
    "modalities": {"audio": {"input": "7.00"}},
    "tiers": [{"above": 200_000, "input": "6.00", "output": "22.50"}],
}


@dataclass(frozen=True, slots=True)
class Exchange:
    """A run, with the fields that a harness passes."""

    chunks: Iterable[bytes]
    api: str = "anthropic-messages"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    request: Any = None
    model: str | None = None
    pricing: Mapping[str, Any] | None = field(default_factory=lambda: PRICES)
    stream: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """Events and an outcome."""

    events: list[dict[str, Any]]
    outcome: dict[str, Any]

    @property
    def content(self) -> list[dict[str, Any]]:
        """The blocks of the outcome, without empty optional fields."""
        content: list[dict[str, Any]] = without_empty_fields(self.outcome["content"])
        return content

    def types(self) -> list[str]:
        """Return the types of the events."""
        return [event["type"] for event in self.events]


def decode(
    body: bytes | Iterable[bytes],
    *,
    adapter: Callable[[Exchange], Iterator[dict[str, Any]]] = reference,
    **fields: Any,
) -> Answer:
    """Return the result of `adapter` for a body; `fields` are those of the exchange."""
    chunks = [body] if isinstance(body, bytes) else body
    *events, last = adapter(Exchange(chunks, **fields))
    return Answer(events, last["outcome"])


@dataclass(frozen=True, slots=True)
class Case:
    """A body and its response metadata; `expect` maps paths in the outcome to values."""

    id: str
    body: bytes
    expect: dict[str, Any]
    fields: dict[str, Any] = field(default_factory=dict)


OPTIONAL_FIELDS = ("phase", "citations", "sequence", "details", "continuation")


def without_empty_fields(value: Any) -> Any:
    """Remove empty optional fields, so that an expectation names only the relevant ones."""
    if isinstance(value, list):
        return [without_empty_fields(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    optional = OPTIONAL_FIELDS if value.get("type") == "thinking" else (*OPTIONAL_FIELDS, "signature")
    return {
        key: without_empty_fields(entry)
        for key, entry in value.items()
        if entry not in (None, []) or key not in optional
    }


def at(outcome: dict[str, Any], path: str) -> Any:
    """Return the value at a path such as `content.0.text` or `content.length`."""
    value: Any = outcome
    for key in path.split("."):
        value = len(value) if key == "length" else value[int(key) if key.isdigit() else key]
    return without_empty_fields(value)


def text_block(words: str) -> dict[str, Any]:
    """Return a block of text."""
    return {"type": "text", "text": words}


def thinking_block(words: str, signature: str | None = None, *, redacted: bool = False) -> dict[str, Any]:
    """Return a block of thinking."""
    return {"type": "thinking", "text": words, "signature": signature, "redacted": redacted}


def call_block(
    name: str, arguments: Any, call_id: str, text: str | None = None, **fields: Any
) -> dict[str, Any]:
    """Return a complete call of a tool of the client, with the text of its arguments."""
    call = {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}
    return {**call, "arguments_text": text, "complete": True, "executor": "client", **fields}


def usage_counts(**counts: int | None) -> dict[str, int | None]:
    """Return all counts of a usage, those that are not given as null."""
    names = ("input", "cache_read", "cache_write", "cache_write_1h", "output", "reasoning", "web_searches")
    return {name: counts.get(name) for name in names}


def cited_block(words: str, **citation: Any) -> dict[str, Any]:
    """Return a text with one citation, whose other keys are null."""
    empty = dict.fromkeys(("source", "title", "quote", "start", "end", "data"))
    return {**text_block(words), "citations": [{**empty, **citation}]}


def joined_deltas(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join adjacent deltas of the same block; nothing else may differ with other chunks."""
    joined: list[dict[str, Any]] = []
    for event in events:
        before = joined[-1] if joined else {}
        same = (event["type"], event.get("content_index"))
        if "delta" in event and same == (before.get("type"), before.get("content_index")):
            joined[-1] = {**before, "delta": before["delta"] + event["delta"]}
        else:
            joined.append(event)
    return joined


def assert_event_rules(answer: Answer) -> None:
    """Assert that deltas add up to their block, inside it, and that only the last event is terminal."""
    terminal = [kind for kind in answer.types() if kind in ("done", "error")]
    assert terminal == answer.types()[-1:], answer.types()
    content = answer.content
    events: dict[int, list[dict[str, Any]]] = {index: [] for index in range(len(content))}
    for event in answer.events:
        if "content_index" in event:
            events[event["content_index"]].append(event)
    for index, block in enumerate(content):
        _assert_block_rules(block, events[index])
    ids = [block["id"] for block in content if block["type"] == "tool_call"]
    assert len(ids) == len(set(ids))
    assert all(ids)


def assert_outcome(case: Case, api: str) -> None:
    """Assert that the answer is the expected one, by the rules of events, however the bytes are cut."""
    answer = decode(case.body, api=api, **case.fields)
    assert {path: at(answer.outcome, path) for path in case.expect} == case.expect
    assert_event_rules(answer)
    for chunks in (chunkings.bytewise(case.body), chunkings.at_random(case.body, 1)):
        again = decode(chunks, api=api, **case.fields)
        assert again.outcome == answer.outcome
        assert joined_deltas(again.events) == joined_deltas(answer.events)


def _assert_block_rules(block: dict[str, Any], events: list[dict[str, Any]]) -> None:
    kinds = [
        "start" if event["type"].endswith("_start") else "delta" if "delta" in event else "end"
        for event in events
    ]
    assert re.fullmatch("(start(delta)*(end)?)?", "".join(kinds)), kinds
    for event in events:
        if event["type"] == "toolcall_end":
            assert without_empty_fields(event["tool_call"]) == block
    if block["type"] != "other":
        text = block["arguments_text"] if block["type"] == "tool_call" else block["text"]
        assert "".join(event.get("delta", "") for event in events) == (text or "")
