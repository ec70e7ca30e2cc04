"""A conversation through a chat of the Gen AI SDK, which keeps the history; the caller runs the tools."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any

from google.genai import types

from streamconform_peers.turns import match_results

Part = Mapping[str, Any]
"""A tool result, or a part of a message's content, in the form used in conversations."""


def converse(client: Any, run: Any, turns: Sequence[Mapping[str, Any]], answers: list[list[Any]]) -> None:
    """Append the chunks of each answer, including those before an exception."""
    body = dict(run.request)
    *history, message = body.pop("contents")
    config = {"http_options": {"base_url": run.base_url, "extra_body": body}}
    chat = client.chats.create(model=run.model, config=config, history=history)
    parts = types.Content(**message).parts
    for turn in [*turns, {}]:
        answers.append([])
        for chunk in chat.send_message_stream(parts):
            answers[-1].append(chunk)
        calls = [call for chunk in answers[-1] for call in chunk.function_calls or []]
        results = match_results(turn.get("results") or (), calls, lambda call: call.name)
        parts = [build_result(call, result) for call, result in results]
        parts += [part for message in turn.get("messages") or () for part in _convert_text(message)]


def build_result(call: Any, result: Part) -> types.Part:
    """Return a call's result: under `error` if the tool failed, else an object as it is or under `output`."""
    content, media = result["content"], []
    if not isinstance(content, str):
        media = [part for part in content if part["type"] == "image"]
        values = [part["value"] for part in content if part["type"] == "json"]
        content = values[0] if values else "".join(part.get("text", "") for part in content)
    key = "error" if result.get("error") else "output"
    return types.Part(
        function_response=types.FunctionResponse(
            id=call.id,
            name=call.name,
            response=content if isinstance(content, dict) and key == "output" else {key: content},
            parts=[
                types.FunctionResponsePart.from_bytes(
                    data=b64decode(part["data"]), mime_type=part["media_type"]
                )
                for part in media
            ]
            or None,
        )
    )


def _convert_text(message: Mapping[str, Any]) -> list[types.Part]:
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [
        types.Part.from_bytes(data=b64decode(part["data"]), mime_type=part["media_type"])
        if part["type"] == "image"
        else types.Part(text=part.get("text") or json.dumps(part.get("value")))
        for part in parts
    ]
