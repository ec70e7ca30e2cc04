"""`peer:anthropic-helper`: the Anthropic SDK, `messages.stream()` and the message that it accumulates."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from streamconform.peers.anthropic.errors import STOPS, client, counts, request, told
from streamconform.peers.normal_form import Block, Error, at, call, other, outcome, words


def adapter(run: Any) -> dict[str, Any]:
    """Return the outcome of `messages.stream()`: `get_final_message()`, and which blocks had ended."""
    asked = {key: value for key, value in request(run).items() if key != "stream"}
    sdk = client(run)
    messages: Any = sdk.beta.messages if "mcp_servers" in asked else sdk.messages
    error: Error | None = None
    message: Any = None
    done: set[int] = set()
    raised = False
    try:
        with messages.stream(**words(messages.stream, asked)) as stream:
            for event in stream:
                done |= {event.index} if event.type == "content_block_stop" else set()
                with suppress(AssertionError):  # before `message_start` it has none
                    message = stream.current_message_snapshot
            message = stream.get_final_message()
    except AssertionError:
        pass  # it has no message: so it says that nothing came
    except Exception as thrown:  # noqa: BLE001 - what its user sees
        error, raised = told(thrown), True
    stop = None if raised else at(message, "stop_reason")  # it gave no final message
    return outcome(
        [_block(each, done=index in done) for index, each in enumerate(at(message, "content") or [])],
        STOPS.get(stop, "other") if stop else None,
        stop,
        usage=counts(dict(at(message, "usage") or {})),
        error=error,
        model=at(message, "model"),
        response_id=at(message, "id"),
    )


def _block(block: Any, *, done: bool) -> Block:
    match at(block, "type"):
        case "text":
            return {"type": "text", "text": block.text or ""}
        case "thinking":
            return {"type": "thinking", "text": block.thinking, "signature": block.signature}
        case "redacted_thinking":
            return {"type": "thinking", "text": "", "signature": block.data, "redacted": True}
        case "tool_use":
            return call(block.id, block.name, block.input, complete=done)
        case "server_tool_use" | "mcp_tool_use":
            return call(block.id, block.name, block.input, complete=done, executor="provider")
        case kind:
            return other(str(kind))
