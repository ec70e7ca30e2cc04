"""Check that the adapter does what `control` of a run asks, for each capability that it claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import to_builtins

from streamconform.model.behavior import Control
from streamconform.smoke import protocol_checks as protocol
from streamconform.smoke.transcript import StepRecord, Transcript, filter_texts, find_input, read_claims

CONTROLS: Final[Mapping[str, Mapping[str, Control]]] = {
    "abort": {
        "control.abort": Control(stop="abort", after=1),
        "control.cancel": Control(stop="cancel", after=1),
        "control.abandon": Control(stop="abandon", after=1),
    },
    "retries": {"control.retries": Control(retries="default")},
    "concurrency": {"control.at_once": Control(at_once=2), "control.times": Control(times=2)},
    "backpressure": {"control.pause": Control(pause={"after": 1})},
}
"""For each capability, what to ask of an adapter, by the name in `lacks` of one that cannot do it."""


def list_controls(hello: Mapping[str, Any], api: str) -> Iterator[Control]:
    """Yield what to ask of an adapter with this greeting."""
    if find_input(hello) != "http":
        return
    lacks = filter_texts(hello.get("lacks"))
    for capability, controls in CONTROLS.items():
        if capability in read_claims(hello, api):
            yield from (control for name, control in controls.items() if name not in lacks)


def format_control(control: Control) -> str:
    """Return the names and values in `control`, such as `stop abort`."""
    name, value = next(iter(to_builtins(control).items()))
    return name if isinstance(value, dict) else f"{name} {value}"


def skip_without_controls(transcript: Transcript) -> str | None:
    """Return the reason to skip the check, or None."""
    if any(record.control is not None for record in transcript.steps):
        return None
    return (
        protocol.skip_without_http(transcript) or "none of abort, retries, concurrency, backpressure claimed"
    )


def check_controls(transcript: Transcript) -> Iterator[protocol.SmokeProblem]:
    """Yield what the adapter did not do. Whether the library does it well is for the cases to say."""
    for record in transcript.steps:
        if record.control is not None and not (record.exit or record.timed_out):
            message = _explain_disobedience(record, record.control)
            if message is not None:
                yield protocol.SmokeProblem(message, record.step)


def _explain_disobedience(record: StepRecord, control: Control) -> str | None:
    result = next(iter(record.results.values()), {})
    events = [entry.event for entry in record.log]
    if "skipped" in result or "errored" in result:
        return None  # another check says so
    if control.answers > 1:
        got = result.get("outcomes")
        count = len(got) if isinstance(got, list) else 0
        if count != control.answers:
            return f"expected {control.answers} outcomes in `outcomes`, got {count}"
        if events.count("request") != control.answers:
            return f"expected {control.answers} requests, got {events.count('request')}"
    elif "outcome" not in result and "raised" not in result:
        return "no `outcome`"
    if control.stop is not None and "waited" in events:
        return f"`stop` is `{control.stop}`, but the answer was read on after delta {control.after}"
    if control.pause is not None and "paused" not in events:
        return "`pause.url` was not requested; the server answers it when the adapter may read on"
    return None
