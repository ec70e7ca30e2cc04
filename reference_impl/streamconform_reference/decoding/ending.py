"""Why an answer ends: the reason that its api gives, in the light of its status and its content.

- Apis count in different ways: what one calls `stop` is `tool_use` where the client has a call to
  run, and `refusal` where the model declined. `tool_use` is `stop` where the provider ran every
  call itself.
- An answer that broke off has no reason. One that failed has `error`, beside the word that came.
- A call whose text does not parse was cut off if it is the last one of a truncated answer. Any
  other is what the model wrote, and ends with the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from streamconform_reference.decoding.blocks import CallBlock, GrowingBlock, ProseBlock
from streamconform_reference.outcome import Status, Stop, StopReason

NOT_GIVEN: Final = Stop(None, None)

_TRUNCATING: Final = frozenset({"length", "content_filter"})


def actual_stop(status: Status | None, given: Stop, blocks: Sequence[GrowingBlock]) -> Stop:
    """Return why the answer ended; as long as the status is not settled, why it is going to end."""
    match status:
        case "error":
            return Stop("error", given.raw)
        case "incomplete":
            return NOT_GIVEN
        case "complete":
            return Stop(_completed_reason(given.reason or "other", blocks), given.raw)
        case None:
            return Stop(given.reason and _completed_reason(given.reason, blocks), given.raw)


def held_calls(given: Stop, blocks: Sequence[GrowingBlock]) -> list[CallBlock]:
    """Return the calls that ended without being told so, and that end with a complete answer."""
    calls = _calls(blocks)
    if given.reason in _TRUNCATING:
        calls = calls[:-1]
    return [call for call in calls if not call.open and not call.complete]


def _completed_reason(reason: StopReason, blocks: Sequence[GrowingBlock]) -> StopReason:
    """Return the reason as the content shows it."""
    calls = _calls(blocks)
    if reason == "stop" and any(call.complete and call.executor == "client" for call in calls):
        return "tool_use"
    if reason == "stop" and _refuses(blocks):
        return "refusal"
    if reason == "tool_use" and calls and all(call.executor == "provider" for call in calls):
        return "stop"
    return reason


def _calls(blocks: Sequence[GrowingBlock]) -> list[CallBlock]:
    return [block for block in blocks if isinstance(block, CallBlock)]


def _refuses(blocks: Sequence[GrowingBlock]) -> bool:
    prose = (block for block in blocks if isinstance(block, ProseBlock))
    return any(block.kind == "refusal" and block.fragments.text() for block in prose)
