"""Decode an implementation's JSON into a typed outcome and typed events. Pure.

This module accepts exactly the values that `outcome.v1.json` and `event.v1.json` accept (a test compares the
two), without the cost of a general validator. Anything else raises `MalformedError`; the caller then gets a
message from the schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from streamconform.model import event as ev
from streamconform.model import outcome as oc

T = TypeVar("T")
D = TypeVar("D")

_OPTIONAL_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "usage": oc.Usage.__slots__,
    # A cost without `currency` is in USD, so its currency is never unknown.
    "cost": tuple(name for name in oc.Cost.__slots__ if name != "currency"),
    "error": ("type", "status"),
}
"""The keys of each claimed group that may be left out; `error.message` may not."""
GROUP_KEYS: Final[Mapping[str, frozenset[str]]] = {
    # A cost with nothing but its currency exposes no amount, which is not the same as no cost.
    name: frozenset(keys)
    for name, keys in {
        "usage": oc.Usage.__slots__,
        "cost": oc.Cost.__slots__,
        "error": oc.Error.__slots__,
    }.items()
}
"""The known keys of each claimed group; a mapping without any of them counts as omitted."""
_OPTIONAL_CALL_KEYS: Final = ("id", "arguments_text", "complete", "signature", "echo")
"""The keys of a call that may be left out; without `executor`, the client runs the tool."""
_OPTIONAL_TEXT_KEYS: Final = ("phase", "signature", "citations", "echo")
_OPTIONAL_THINKING_KEYS: Final = ("signature", "redacted", "echo")
_OPTIONAL_STOP_KEYS: Final = ("raw", "sequence", "details")
_MONEY: Final = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,30})?")


class MalformedError(ValueError):
    """The value is not in the normal form."""


def decode_outcome(value: Any) -> oc.Outcome:
    """Return the outcome in `value`. Raises `MalformedError`."""
    entry = _require_mapping(value)
    content = entry.get("content")
    if entry.get("status") not in oc.STATUSES or not isinstance(content, list):
        raise MalformedError
    return oc.Outcome(
        absent=_list_absent_paths(entry),
        omitted=frozenset(name for name in GROUP_KEYS if is_omitted(entry, name)),
        status=entry["status"],
        content=tuple(map(decode_block, content)),
        stop=_decode_optional(entry.get("stop"), _decode_stop, oc.Stop()),
        usage=_decode_group(entry, "usage", decode_usage, oc.Usage()),
        cost=_decode_group(entry, "cost", _decode_cost, None),
        error=_decode_group(entry, "error", _decode_error, None),
        model=_decode_text(entry.get("model")),
        response_id=_decode_text(entry.get("response_id")),
        continuation=_decode_text(entry.get("continuation")),
        echo=_decode_object(entry.get("echo")),
    )


def is_omitted(entry: Mapping[str, Any], name: str) -> bool:
    """Return whether an outcome leaves out a claimed group, or has none of the group's known keys.

    Null does not count: it means that there is no usage, cost or error.
    """
    group = entry.get(name, {})
    return isinstance(group, dict) and GROUP_KEYS[name].isdisjoint(group)


def _decode_group(
    entry: Mapping[str, Any], name: str, reader: Callable[[Mapping[str, Any]], T], default: D
) -> T | D:
    """Return a claimed group; a group without a known key is decoded, but counts as omitted."""
    value = _decode_optional(entry.get(name), reader, default)
    return default if is_omitted(entry, name) else value


def _list_absent_paths(entry: Mapping[str, Any]) -> frozenset[str]:
    """Return the optional paths that are left out.

    If a claimed group is omitted or null, its paths are judged as null, because the claim promises that
    group.
    """
    paths = [name for name in ("model", "response_id", "continuation", "echo") if name not in entry]
    # Unlike the groups below, `stop` is not claimed as a whole.
    stop = entry.get("stop")
    if "stop" not in entry:
        paths.append("stop.reason")
    known = stop if isinstance(stop, dict) else {}
    paths += (f"stop.{key}" for key in _OPTIONAL_STOP_KEYS if key not in known)
    for name, keys in _OPTIONAL_KEYS.items():
        group = entry.get(name)
        # A group that contains only nulls counts as null. Unknown keys do not count: an adapter that returns
        # the provider's own names, such as `input_tokens`, exposes no value.
        if isinstance(group, dict) and any(group.get(key) is not None for key in GROUP_KEYS[name]):
            paths += (f"{name}.{key}" for key in keys if key not in group)
    return frozenset(paths)


def decode_block(value: Any) -> oc.Block:
    """Return the content block in `value`. Raises `MalformedError`."""
    entry = _require_mapping(value)
    kind = entry.get("type")
    reader = _BLOCK_DECODERS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        raise MalformedError
    return reader(entry)


def decode_events(value: Any) -> tuple[ev.Event, ...]:
    """Return the events in the list `value`. Raises `MalformedError`."""
    if not isinstance(value, list):
        raise MalformedError
    return tuple(map(decode_event, value))


def decode_event(value: Any) -> ev.Event:
    """Return the event in `value`. Raises `MalformedError`."""
    entry = _require_mapping(value)
    kind = entry.get("type")
    block_event = ev.BLOCK_EVENTS.get(kind) if isinstance(kind, str) else None
    if block_event is None:
        return _decode_other_event(kind, entry)
    event_class, block_type = block_event
    index = _decode_count(entry.get("content_index"))
    if index is None:
        raise MalformedError
    if event_class is ev.BlockDelta:
        delta = entry.get("delta")
        if not isinstance(delta, str):
            raise MalformedError
        return ev.BlockDelta(block_type, index, delta)
    if event_class is ev.BlockStart:
        if block_type != "tool_call":
            return ev.BlockStart(block_type, index)
        return ev.BlockStart(
            block_type, index, _decode_text(entry.get("id")), _decode_text(entry.get("name"))
        )
    if block_type != "tool_call":
        return ev.BlockEnd(block_type, index, _BLOCK_DECODERS[block_type](entry))
    call = _require_mapping(entry.get("tool_call"))
    # The event's own type already says that this is a call, so the block may omit its type.
    if call.get("type", "tool_call") != "tool_call":
        raise MalformedError
    return ev.BlockEnd(block_type, index, _decode_tool_call(call))


def _decode_stop(entry: Mapping[str, Any]) -> oc.Stop:
    reason = entry.get("reason")
    if reason is not None and reason not in oc.REASONS:
        raise MalformedError
    return oc.Stop(
        reason, _decode_text(entry.get("raw")), _decode_text(entry.get("sequence")), entry.get("details")
    )


def decode_usage(entry: Mapping[str, Any]) -> oc.Usage:
    """Return the usage in `entry`. Raises `MalformedError`."""
    return oc.Usage(
        input=_decode_count(entry.get("input")),
        cache_read=_decode_count(entry.get("cache_read")),
        cache_write=_decode_count(entry.get("cache_write")),
        cache_write_1h=_decode_count(entry.get("cache_write_1h")),
        output=_decode_count(entry.get("output")),
        reasoning=_decode_count(entry.get("reasoning")),
        web_searches=_decode_count(entry.get("web_searches")),
    )


def _decode_cost(entry: Mapping[str, Any]) -> oc.Cost:
    if entry.get("currency") not in (None, "USD"):
        raise MalformedError
    return oc.Cost(
        input=_decode_money(entry.get("input")),
        cache_read=_decode_money(entry.get("cache_read")),
        cache_write=_decode_money(entry.get("cache_write")),
        output=_decode_money(entry.get("output")),
        other=_decode_money(entry.get("other")),
        total=_decode_money(entry.get("total")),
    )


def _decode_error(entry: Mapping[str, Any]) -> oc.Error:
    return oc.Error(
        _decode_text(entry.get("type")),
        _decode_text(entry.get("message")),
        _decode_count(entry.get("status")),
    )


def _decode_other_event(kind: Any, entry: Mapping[str, Any]) -> ev.Event:
    match kind:
        case "usage":
            reported = _decode_optional(entry.get("usage"), decode_usage, oc.Usage())
            return ev.UsageReport(reported, _decode_optional(entry.get("cost"), _decode_cost, None))
        case "done":
            return ev.Done(_decode_optional(entry.get("stop"), _decode_stop, oc.Stop()))
        case "error":
            status = entry.get("status")
            if status not in ("incomplete", "error"):
                raise MalformedError
            return ev.Failed(status, _decode_optional(entry.get("error"), _decode_error, None))
        case _:
            raise MalformedError


def _decode_tool_call(entry: Mapping[str, Any]) -> oc.ToolCall:
    executor = entry.get("executor")
    if executor is not None and executor not in oc.EXECUTORS:
        raise MalformedError
    return oc.ToolCall(
        id=_decode_text(entry.get("id")),
        name=_decode_text(entry.get("name")),
        # Not validated further: every JSON value is valid here, and it may be deeply nested.
        arguments=entry.get("arguments"),
        arguments_text=_decode_text(entry.get("arguments_text")),
        complete=_decode_flag(entry.get("complete")),
        executor=executor or "client",
        signature=_decode_text(entry.get("signature")),
        echo=_decode_object(entry.get("echo")),
        absent=_list_absent_keys(entry, _OPTIONAL_CALL_KEYS),
    )


def _decode_text_block(entry: Mapping[str, Any]) -> oc.Text:
    return oc.Text(
        _require_text(entry.get("text")),
        phase=_decode_text(entry.get("phase")),
        signature=_decode_text(entry.get("signature")),
        citations=_decode_citations(entry.get("citations")),
        echo=_decode_object(entry.get("echo")),
        absent=_list_absent_keys(entry, _OPTIONAL_TEXT_KEYS),
    )


def _decode_citations(value: Any) -> tuple[Mapping[str, Any], ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise MalformedError
    for citation in map(_require_mapping, value):
        for key in ("source", "title", "quote"):
            _decode_text(citation.get(key))
        for key in ("start", "end"):
            _decode_count(citation.get(key))
    return tuple(value)


def _list_absent_keys(entry: Mapping[str, Any], optional: Iterable[str]) -> frozenset[str]:
    return frozenset(key for key in optional if key not in entry)


_BLOCK_DECODERS: Final[Mapping[str, Callable[[Mapping[str, Any]], oc.Block]]] = {
    "text": _decode_text_block,
    "refusal": lambda entry: oc.Refusal(_require_text(entry.get("text"))),
    "thinking": lambda entry: oc.Thinking(
        _decode_text(entry.get("text")) or "",
        _decode_text(entry.get("signature")),
        _decode_flag(entry.get("redacted")) or False,
        echo=_decode_object(entry.get("echo")),
        absent=_list_absent_keys(entry, _OPTIONAL_THINKING_KEYS),
    ),
    "tool_call": _decode_tool_call,
    "other": lambda entry: oc.Other(_decode_text(entry.get("kind")), entry.get("data")),
}


def _require_mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise MalformedError
    return value


def _decode_object(value: Any) -> Mapping[str, Any] | None:
    return None if value is None else _require_mapping(value)


def _decode_optional(value: Any, reader: Callable[[Mapping[str, Any]], T], default: D) -> T | D:
    return default if value is None else reader(_require_mapping(value))


def _decode_text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise MalformedError
    return value


def _require_text(value: Any) -> str:
    if not isinstance(value, str):
        raise MalformedError
    return value


def _decode_flag(value: Any) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise MalformedError
    return value


def _decode_count(value: Any) -> int | None:
    # `type`, because `True` is an `int`.
    if value is None or (type(value) is int and value >= 0):
        return value
    if isinstance(value, float) and value.is_integer() and value >= 0:
        return int(value)  # in JSON Schema, 5.0 is an integer
    raise MalformedError


def _decode_money(value: Any) -> str | None:
    if value is not None and not (isinstance(value, str) and _MONEY.fullmatch(value)):
        raise MalformedError
    return value
