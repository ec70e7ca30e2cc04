"""Anthropic Messages streams in the form sent by a server, with text from a test."""

from __future__ import annotations

import json
from typing import Any


def frame(payload: dict[str, Any]) -> bytes:
    """Return the payload as one event."""
    return f"event: {payload['type']}\ndata: {json.dumps(payload, ensure_ascii=False)}\n\n".encode()


def answer(*texts: str, model: str = "m") -> bytes:
    """Return a complete answer with one text block, and a delta for each of `texts`."""
    message = {
        "id": "msg_01",
        "model": model,
        "content": [],
        "usage": {"input_tokens": 3, "output_tokens": 1},
    }
    payloads: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
            for text in texts
        ),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]
    return b"".join(frame(payload) for payload in payloads)
