"""The reference with six bugs, each of which occurs only in a few streams, chosen by their digest.

`PLANTED_BUGS` is the number of streams per million that have a bug; the digest also determines which bug.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

from streamconform_reference import adapter as reference

STREAMS = 1_000_000
PER_MILLION = int(os.environ.get("PLANTED_BUGS", "200"))
BUGS = ("usage twice", "text cut", "call lost", "stop reason", "arguments as text", "crash")


def find_bug(body: bytes, outcome: dict[str, Any], per_million: int) -> str | None:
    """Return the bug for a stream, if any; only complete answers with a text and a call have one."""
    digest = hashlib.sha256(body).digest()
    types = {block["type"] for block in outcome["content"]}
    suited = outcome["status"] == "complete" and {"text", "tool_call"} <= types
    if not suited or int.from_bytes(digest[:8], "big") % STREAMS >= per_million:
        return None
    return BUGS[digest[8] % len(BUGS)]


def adapter(run: Any) -> Any:
    """Read a stream."""
    body = b"".join(run.chunks)
    run.chunks._chunks, run.chunks.taken = [body], 0  # noqa: SLF001 - as if nothing had been read
    *_, last = reference(run)
    outcome = last["outcome"]
    plant(find_bug(body, outcome, PER_MILLION), outcome)
    return outcome


def plant(bug: str | None, outcome: dict[str, Any]) -> None:
    """Change an outcome as `bug` does."""
    blocks = outcome["content"]
    match bug:
        case "usage twice":
            outcome["usage"]["output"] = 2 * (outcome["usage"]["output"] or 1)
        case "text cut":
            text = next(block for block in blocks if block["type"] == "text")
            text["text"] = text["text"][:-1]
        case "call lost":
            blocks.remove(next(block for block in blocks if block["type"] == "tool_call"))
        case "stop reason":
            outcome["stop"]["reason"] = "pause"
        case "arguments as text":
            call = next(block for block in blocks if block["type"] == "tool_call")
            call["arguments"] = json.dumps(call["arguments"])
        case "crash":
            raise IndexError("list index out of range")
        case _:
            pass


adapter.capabilities = ["tool_calls", "thinking", "usage", "errors"]  # type: ignore[attr-defined]
