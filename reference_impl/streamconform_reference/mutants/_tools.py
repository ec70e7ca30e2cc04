"""What several mutants need: parts of payloads, and the same change in every block that is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from streamconform_reference.adapter import Adapter, Run, adapter, describe_adapter
from streamconform_reference.outcome import Json


def part(payload: Json, key: str) -> Json:
    """Return the object under the key, empty where there is none."""
    value: Any = payload.get(key)
    return value if isinstance(value, dict) else {}


def rewriting(name: str, change: Callable[[Json], None]) -> Adapter:
    """Return the reference's adapter with a change in every block that has ended or is final."""

    def rewritten(run: Run) -> Iterator[Json]:
        for message in adapter(run):
            for block in _blocks(message):
                change(block)
            yield message

    return describe_adapter(rewritten, name=f"mutant:{name}", apis=["anthropic-messages"])


def _blocks(message: Json) -> list[Json]:
    if "outcome" in message:
        blocks: list[Json] = message["outcome"]["content"]
        return blocks
    if message["type"] == "thinking_end":
        return [message]
    return [message["tool_call"]] if message["type"] == "toolcall_end" else []
