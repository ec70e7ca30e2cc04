"""The same mistake in several apis: a reason that says nothing of calls is taken at its word."""

from __future__ import annotations

from collections.abc import Iterator

from streamconform_reference.adapter import Adapter, Run, adapter, describe_adapter
from streamconform_reference.outcome import Json


def hiding_calls(name: str, api: str) -> Adapter:
    """Return the reference's adapter, for which a call is no reason to end."""

    def literal(run: Run) -> Iterator[Json]:
        for message in adapter(run):
            stop = message.get("outcome", message).get("stop")
            if stop and stop["reason"] == "tool_use":
                stop["reason"] = "stop"
            yield message

    return describe_adapter(literal, name=f"mutant:{name}", apis=[api])
