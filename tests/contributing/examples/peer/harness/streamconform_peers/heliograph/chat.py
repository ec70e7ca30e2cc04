"""`peer:heliograph`: `Client.stream()`, its texts joined and its calls collected."""

from __future__ import annotations

from typing import Any, Final

import heliograph

from streamconform.normal.blocks import Block, append_text, build_call, build_outcome

STOP_REASONS: Final = {"stop": "stop", "length": "length"}


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of `Client.stream()`."""
    stream = heliograph.Client(run.base_url).stream(run.request or {})
    content: list[Block] = []
    for item in stream:
        if isinstance(item, str):
            append_text(content, "text", item)
        else:
            content.append(build_call(item.id, item.name, item.arguments))
    reason = STOP_REASONS.get(stream.stop_reason, "other") if stream.stop_reason else None
    return build_outcome(content, reason, stream.stop_reason, model=stream.model)
