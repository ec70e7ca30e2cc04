"""Remove what differs from run to run from a recording: ids, times, and the number of keep-alives."""

from __future__ import annotations

import re

CHANGING = (
    (re.compile(rb"chatcmpl-[A-Za-z0-9]{32}"), b"chatcmpl-ID"),
    (re.compile(rb"\b(resp|msg|rs|fc|call)_[A-Za-z0-9]{32}"), rb"\1_ID"),
    (re.compile(rb'("(?:id|call_id|item_id|tool_use_id)": ?)"[A-Za-z0-9]{32}"'), rb'\1"ID"'),
    (re.compile(rb'("(?:created|created_at|completed_at)": ?)[0-9]+'), rb"\1 0"),
    (re.compile(rb',?"timings": ?\{[^}]*\}'), b""),
    (re.compile(rb"(?::\n\n)+"), b":\n\n"),
)


def normal(body: bytes) -> bytes:
    """Return the parts that stay the same if the same engine gets the same request again."""
    for pattern, instead in CHANGING:
        body = pattern.sub(instead, body)
    return body
