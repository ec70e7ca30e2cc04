"""The stop reason, as reported by the API and adjusted to the answer's status and content.

- APIs report the same end differently: a reported `stop` becomes `tool_use` if the client has a call to run,
  and `refusal` if the model declined. A reported `tool_use` becomes `stop` if the provider ran every call
  itself.
- A truncated answer has no reason. A failed answer has the reason `error`, plus the raw reason if one
  arrived.
- Call text that cannot be parsed counts as truncated if the call is the last one in a truncated answer.
  Otherwise, the model wrote it that way, and the call ends when the answer ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from streamconform_reference.decoding.blocks import CallBlock, GrowingBlock, ProseBlock
from streamconform_reference.outcome import Status, Stop, StopReason

NO_STOP: Final = Stop(None, None)

_TRUNCATING: Final = frozenset({"length", "content_filter"})


def compute_stop(status: Status | None, reported: Stop, blocks: Sequence[GrowingBlock]) -> Stop:
    """Return the stop reason, or, until the status is final, the reason known so far."""
    match status:
        case "error":
            return _set_reason(reported, "error")
        case "incomplete":
            return NO_STOP
        case "complete":
            return _set_reason(reported, _adjust_reason(reported.reason or "other", blocks))
        case None:
            return _set_reason(reported, reported.reason and _adjust_reason(reported.reason, blocks))


def _set_reason(stop: Stop, reason: StopReason | None) -> Stop:
    return stop if stop.reason == reason else replace(stop, reason=reason)


def find_held_calls(reported: Stop, blocks: Sequence[GrowingBlock]) -> list[CallBlock]:
    """Return the ended calls whose held-back end events must be emitted if the answer is complete."""
    calls = _filter_calls(blocks)
    if reported.reason in _TRUNCATING:
        # A limit can truncate only the call that the model was writing, which is the last one.
        calls = calls[:-1]
    return [call for call in calls if not call.open and not call.complete]


def _adjust_reason(reason: StopReason, blocks: Sequence[GrowingBlock]) -> StopReason:
    """Return the reported reason, adjusted to the content."""
    calls = _filter_calls(blocks)
    # Gemini, Ollama and many servers of Chat Completions report `stop` after calls.
    if reason == "stop" and any(call.complete and call.executor == "client" for call in calls):
        return "tool_use"
    # OpenAI ends a refusal with `stop`, so only the content shows that it is one.
    if reason == "stop" and _has_refusal(blocks):
        return "refusal"
    if reason == "tool_use" and calls and all(call.executor == "provider" for call in calls):
        return "stop"
    return reason


def _filter_calls(blocks: Sequence[GrowingBlock]) -> list[CallBlock]:
    return [block for block in blocks if isinstance(block, CallBlock)]


def _has_refusal(blocks: Sequence[GrowingBlock]) -> bool:
    prose = (block for block in blocks if isinstance(block, ProseBlock))
    return any(block.kind == "refusal" and block.fragments.text() for block in prose)
