"""Convert the chunks of the Google Gen AI SDK."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Any, Final

from streamconform.normal.blocks import Block, Error, build_call, build_other, build_outcome, get, subtract
from streamconform.normal.stop_reasons import GOOGLE

_TEXT_FIELDS: Final = frozenset({"text", "thought", "thought_signature"})
PATH_KEY: Final = re.compile(r"\.([^.\[]+)|\[['\"](.*?)['\"]\]|\[(\d+)\]")
"""One key of a JSON path, such as `$.stops[0].name` or `$['a.b']`."""


def convert_google_chunks(chunks: Iterable[Any], *, error: Error | None = None) -> dict[str, Any]:
    """Return the outcome of the chunks, whose parts are joined in order.

    A complete response is a single chunk. Signatures are bytes; the normal form uses base64.
    """
    content: list[Block] = []
    fields: dict[str, Any] = {}
    for chunk in chunks:
        fields |= _read_fields(chunk)
        # Only the first candidate is judged; a stream with a single candidate may omit its index.
        for candidate in [candidate for candidate in chunk.candidates or [] if not candidate.index]:
            for part in get(candidate, "content", "parts") or []:
                _append_part(content, part)
            if candidate.finish_reason:
                fields["stop"] = str(candidate.finish_reason.value)
    reason, raw = _read_stop(fields)
    return build_outcome(
        content,
        reason,
        raw,
        usage=_read_usage(fields),
        error=error,
        model=fields.get("model_version"),
        response_id=fields.get("response_id"),
    )


def _read_fields(chunk: Any) -> dict[str, Any]:
    """Return a chunk's names, its counts, and why its prompt was blocked."""
    fields = {name: value for name in ("model_version", "response_id") if (value := get(chunk, name))}
    fields |= {name: value for name, value in dict(chunk.usage_metadata or {}).items() if value is not None}
    blocked = get(chunk, "prompt_feedback", "block_reason")
    if blocked:
        fields["blocked"] = str(get(blocked, "value") or blocked)
    return fields


def _read_stop(fields: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return why the answer ended; a blocked prompt has a block reason and no finish reason."""
    if stop := fields.get("stop"):
        return GOOGLE.get(stop, "other"), stop
    blocked = fields.get("blocked")
    return ("content_filter" if blocked else None), blocked


def _append_part(content: list[Block], part: Any) -> None:
    """Append a part; its text extends the last block if both are of the same type and neither is signed.

    A thought may also be signed by its last part, if that part has text.
    """
    signature = b64encode(part.thought_signature).decode() if part.thought_signature else None
    if part.function_call:
        _append_call(content, part.function_call, signature)
    elif part.tool_call:
        content.append(_build_server_call(part.tool_call) | {"signature": signature})
    elif part.text or (signature and set(part.model_dump(exclude_none=True)) <= _TEXT_FIELDS):
        kind = "thinking" if part.thought else "text"
        last = content[-1] if content else {}
        is_apart = signature and not (part.thought and part.text)
        if last.get("type") == kind and not last["signature"] and not is_apart:
            last |= {"text": last["text"] + part.text, "signature": signature}
        else:
            content.append({"type": kind, "text": part.text or "", "signature": signature})
    elif part.text is None:
        if signature:  # the next request sends it back with the part, which the normal form cannot represent
            content.append({"type": "thinking", "text": "", "signature": signature})
        content.append(build_other(next(iter(part.model_dump(exclude_none=True)), "part")))


def _append_call(content: list[Block], part: Any, signature: str | None) -> None:
    """Append a call, or add `partial_args` (values with their JSON paths) to the open call."""
    if part.name:
        args = {} if part.will_continue else part.args or {}
        call = build_call(part.id, part.name, args, complete=not part.will_continue)
        content.append(call | {"signature": signature})
    for call in [block for block in content[-1:] if block["type"] == "tool_call"]:
        for piece in part.partial_args or []:
            _set_value(call["arguments"], piece)
        call["complete"] = not part.will_continue


def _build_server_call(call: Any) -> Block:
    """Return the call to a tool that the provider runs."""
    tool = call.tool_type.value if call.tool_type else None
    return build_call(call.id, tool, call.args or {}, executor="provider")


def _set_value(holder: Any, piece: Any) -> None:
    """Set the value at the piece's path; text is appended to any text that is already there."""
    keys = [name or quoted or int(index) for name, quoted, index in PATH_KEY.findall(piece.json_path or "")]
    values = (piece.string_value, piece.number_value, piece.bool_value)
    value: Any = next((value for value in values if value is not None), None)
    for key, next_key in zip(keys, [*keys[1:], None], strict=False):
        if isinstance(holder, list):
            holder.extend([None] * (int(key) + 1 - len(holder)))
        old = holder[key] if isinstance(holder, list) else holder.get(key)
        if next_key is None:
            holder[key] = old + value if isinstance(old, str) and isinstance(value, str) else value
            return
        holder[key] = old if old is not None else [] if isinstance(next_key, int) else {}
        holder = holder[key]


def _read_usage(fields: Mapping[str, Any]) -> dict[str, int | None]:
    """Return the usage buckets.

    Candidate tokens exclude thoughts; prompt tokens include the cache, but not the tool-use prompt.
    """
    output = [fields.get(name) for name in ("candidates_token_count", "thoughts_token_count")]
    uncached = subtract(fields.get("prompt_token_count"), fields.get("cached_content_token_count"))
    input_ = [uncached, fields.get("tool_use_prompt_token_count")]
    return {
        "input": _sum_reported(input_),
        "cache_read": fields.get("cached_content_token_count"),
        "output": _sum_reported(output),
        "reasoning": fields.get("thoughts_token_count"),
    }


def _sum_reported(counts: list[int | None]) -> int | None:
    """Return the sum of the reported counts; None if no count is reported."""
    return sum(count or 0 for count in counts) if any(count is not None for count in counts) else None
