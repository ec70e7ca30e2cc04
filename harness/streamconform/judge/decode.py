"""JSON from an implementation to outcome and events, typed; a test holds this equal to the schemas.

Accepts exactly what `outcome.v1.json` and `event.v1.json` accept, without the price of a general
validator. What does not fit raises `Malformed`; the words come from the schema then.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from streamconform.model import event as ev
from streamconform.model import outcome as oc

T = TypeVar("T")
D = TypeVar("D")

MONEY: Final = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,30})?")


class Malformed(ValueError):
    """The value is not in the normal form."""


def outcome(value: Any) -> oc.Outcome:
    """Return the outcome in `value`."""
    given = _mapping(value)
    content = given.get("content")
    if given.get("status") not in oc.STATUSES or not isinstance(content, list):
        raise Malformed
    return oc.Outcome(
        status=given["status"],
        content=tuple(map(block, content)),
        stop=_optional(given.get("stop"), stop, oc.Stop()),
        usage=_optional(given.get("usage"), usage, oc.Usage()),
        cost=_optional(given.get("cost"), cost, None),
        error=_optional(given.get("error"), error, None),
        model=_text(given.get("model")),
        response_id=_text(given.get("response_id")),
    )


def block(value: Any) -> oc.Block:
    """Return the content block in `value`."""
    given = _mapping(value)
    kind = given.get("type")
    reader = BLOCKS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        raise Malformed
    return reader(given)


def events(value: Any) -> tuple[ev.Event, ...]:
    """Return the events in `value`, a list."""
    if not isinstance(value, list):
        raise Malformed
    return tuple(map(event, value))


def event(value: Any) -> ev.Event:
    """Return the event in `value`."""
    given = _mapping(value)
    kind = given.get("type")
    known = ev.BLOCK_EVENTS.get(kind) if isinstance(kind, str) else None
    if known is None:
        return _other_event(kind, given)
    shape, of = known
    index = _count(given.get("content_index"))
    if index is None:
        raise Malformed
    if shape is ev.BlockDelta:
        delta = given.get("delta")
        if not isinstance(delta, str):
            raise Malformed
        return ev.BlockDelta(of, index, delta)
    if shape is ev.BlockStart:
        if of != "tool_call":
            return ev.BlockStart(of, index)
        return ev.BlockStart(of, index, _text(given.get("id")), _text(given.get("name")))
    if of != "tool_call":
        return ev.BlockEnd(of, index, BLOCKS[of](given))
    call = _mapping(given.get("tool_call"))
    if call.get("type", "tool_call") != "tool_call":
        raise Malformed
    return ev.BlockEnd(of, index, _tool_call(call))


def stop(given: Mapping[str, Any]) -> oc.Stop:
    """Return the stop in `given`."""
    reason = given.get("reason")
    if reason is not None and reason not in oc.REASONS:
        raise Malformed
    return oc.Stop(reason, _text(given.get("raw")))


def usage(given: Mapping[str, Any]) -> oc.Usage:
    """Return the usage in `given`."""
    return oc.Usage(
        input=_count(given.get("input")),
        cache_read=_count(given.get("cache_read")),
        cache_write=_count(given.get("cache_write")),
        cache_write_1h=_count(given.get("cache_write_1h")),
        output=_count(given.get("output")),
        reasoning=_count(given.get("reasoning")),
        web_searches=_count(given.get("web_searches")),
    )


def cost(given: Mapping[str, Any]) -> oc.Cost:
    """Return the cost in `given`."""
    if given.get("currency") not in (None, "USD"):
        raise Malformed
    return oc.Cost(
        input=_money(given.get("input")),
        cache_read=_money(given.get("cache_read")),
        cache_write=_money(given.get("cache_write")),
        output=_money(given.get("output")),
        other=_money(given.get("other")),
        total=_money(given.get("total")),
    )


def error(given: Mapping[str, Any]) -> oc.Error:
    """Return the error in `given`."""
    return oc.Error(_text(given.get("type")), _text(given.get("message")), _count(given.get("status")))


def _other_event(kind: Any, given: Mapping[str, Any]) -> ev.Event:
    match kind:
        case "usage":
            reported = _optional(given.get("usage"), usage, oc.Usage())
            return ev.UsageReport(reported, _optional(given.get("cost"), cost, None))
        case "done":
            return ev.Done(_optional(given.get("stop"), stop, oc.Stop()))
        case "error":
            status = given.get("status")
            if status not in ("incomplete", "error"):
                raise Malformed
            return ev.Failed(status, _optional(given.get("error"), error, None))
        case _:
            raise Malformed


def _tool_call(given: Mapping[str, Any]) -> oc.ToolCall:
    executor = given.get("executor")
    if executor is not None and executor not in oc.EXECUTORS:
        raise Malformed
    return oc.ToolCall(
        id=_text(given.get("id")),
        name=_text(given.get("name")),
        arguments=given.get("arguments"),
        arguments_text=_text(given.get("arguments_text")),
        complete=_flag(given.get("complete")),
        executor=executor or "client",
    )


BLOCKS: Final[Mapping[str, Callable[[Mapping[str, Any]], oc.Block]]] = {
    "text": lambda given: oc.Text(_written(given.get("text"))),
    "refusal": lambda given: oc.Refusal(_written(given.get("text"))),
    "thinking": lambda given: oc.Thinking(
        _text(given.get("text")) or "",
        _text(given.get("signature")),
        _flag(given.get("redacted")) or False,
    ),
    "tool_call": _tool_call,
    "other": lambda given: oc.Other(_text(given.get("kind")), given.get("data")),
}


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Malformed
    return value


def _optional(value: Any, reader: Callable[[Mapping[str, Any]], T], default: D) -> T | D:
    return default if value is None else reader(_mapping(value))


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise Malformed
    return value


def _written(value: Any) -> str:
    if not isinstance(value, str):
        raise Malformed
    return value


def _flag(value: Any) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise Malformed
    return value


def _count(value: Any) -> int | None:
    if value is None or (type(value) is int and value >= 0):
        return value
    if isinstance(value, float) and value.is_integer() and value >= 0:
        return int(value)  # JSON Schema calls 5.0 an integer
    raise Malformed


def _money(value: Any) -> str | None:
    if value is not None and not (isinstance(value, str) and MONEY.fullmatch(value)):
        raise Malformed
    return value
