"""The facts of a stream, and the rules that all providers share."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


class NotRead(Exception):
    """The body is of a kind that the plain reader does not understand."""


@dataclass(frozen=True, slots=True)
class Block:
    """A content block. `kind` is text, thinking, refusal or tool_call."""

    kind: str
    text: str = ""
    """The text; for a call, the text of its arguments if they came as text."""
    signature: str | None = None
    redacted: bool = False
    name: str | None = None
    id: str | None = None
    arguments: Any = None
    complete: bool = True
    executor: str = "client"
    free: bool = False
    """A call whose arguments have no common form: one of a provider's tool, or one with free text."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Several correct values, and the reason."""

    values: tuple[Any, ...]
    why: str


Count = int | None | Choice


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The facts of one answer."""

    status: str
    reason: str | Choice | None
    raw: str | None = None
    blocks: tuple[Block, ...] = ()
    usage: Mapping[str, Count] | None = None
    """Disjoint buckets, without those that were not reported; None if there were no reports."""
    error_type: str | None = None
    service_tier: str | None = None
    model: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    """Other counts that affect the price."""


def read_error_document(body: bytes) -> Reading:
    """Return the error of a response with an error status."""
    try:
        document = json.loads(body)
    except ValueError:
        document = {}
    if isinstance(document, list) and document:
        document = document[0]
    error = document.get("error") if isinstance(document, dict) else None
    kind = None
    if isinstance(error, dict):
        kind = error.get("status") or error.get("type")
    return Reading(status="error", reason="error", error_type=kind if isinstance(kind, str) else None)


def iter_sse(body: bytes) -> Iterator[tuple[str | None, str]]:
    """Yield (event, data) of each event that has data (HTML Standard, 9.2.6)."""
    event: str | None = None
    data: list[str] = []
    for line in [*body.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n").split("\n"), ""]:
        if not line:
            if data:
                yield event, "\n".join(data)
            event, data = None, []
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            event = value
        elif name == "data":
            data.append(value)


def iter_payloads(body: bytes) -> Iterator[Json]:
    """Yield the JSON objects of an SSE body up to `[DONE]`."""
    for _, data in iter_sse(body):
        if data.strip().startswith("[DONE]"):
            return
        yield json.loads(data)


def parse_arguments(text: str, start: Any = None) -> tuple[Any, bool]:
    """Return the arguments in a call's text, and whether they are valid; blank text means its start's."""
    if not text.strip():
        return (start if start is not None else {}), True
    try:
        return json.loads(text), True
    except ValueError:
        return None, False


def make_call(
    name: str, id_: str | None, text: str, *, start: Any = None, executor: str = "client", ended: bool = True
) -> Block:
    """Return the call with the arguments in `text`."""
    arguments, parses = parse_arguments(text, start)
    return Block(
        "tool_call",
        text,
        name=name,
        id=id_ or None,
        arguments=arguments,
        complete=ended or parses,
        executor=executor,
    )


def settle_reason(reason: str | None, blocks: Sequence[Block]) -> str | None:
    """Return the stop reason; an answer that stops with calls for the client waits for their results."""
    calls = any(each.kind == "tool_call" and each.executor == "client" and each.complete for each in blocks)
    return "tool_use" if reason == "stop" and calls else reason


def drop_nulls(counts: Mapping[str, Count]) -> dict[str, Count] | None:
    """Return the counts that were reported, or None if there were none."""
    return {name: count for name, count in counts.items() if count is not None} or None


def as_dict(value: Any) -> Json:
    """Return an object, or an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}
