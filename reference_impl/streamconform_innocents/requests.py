"""Innocents that send requests under another version of an API, or to another path of a host."""

from __future__ import annotations

from typing import Any, Final

from . import grants
from .model import Json
from .registry import Registry

innocents = Registry()

_ANTHROPIC: Final = "anthropic-messages"
_VERSION: Final = "anthropic-version"


@innocents.register_request("newer-version", grants.EITHER_VERSION, apis=[_ANTHROPIC])
def _send_newer_version(conversation: Json, request: Json) -> None:
    """Names version 2026-10-21 of Anthropic's API, and leaves out what it rejects."""
    del conversation
    if _VERSION not in request["headers"]:
        return
    request["headers"][_VERSION] = "2026-10-21"
    for name in ("temperature", "top_p", "top_k"):
        request["body"].pop(name, None)
    for message in request["body"]["messages"]:
        content = message["content"]
        if message["role"] == "assistant" and isinstance(content, list):
            message["content"] = [block for block in content if block["type"] != "document"]


@innocents.register_request("older-version", grants.EITHER_VERSION, apis=[_ANTHROPIC])
def _send_older_version(conversation: Json, request: Json) -> None:
    """Names version 2023-06-01 of Anthropic's API, and sends the citations of a user's text."""
    quoted = {
        part["text"]: [citation["data"] for citation in part["citations"]]
        for message in conversation["messages"]
        for part in _list_parts(message)
        if part.get("citations") and part["type"] == "text"
    }
    for message in request["body"]["messages"]:
        for block in message["content"] if message["role"] == "user" else ():
            if block.get("text") in quoted:
                block["citations"] = quoted[block["text"]]


def _list_parts(message: Json) -> list[Json]:
    content: Any = message["content"] if message["role"] == "user" else ()
    return [] if isinstance(content, str) else [*content]


_PLAIN_PATHS: Final = {
    _ANTHROPIC: "/v1/messages",
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
}
_CLOUDS: Final = ("/v1/projects/", "/openai/")


@innocents.register_request("plain-path", grants.ANY_PATH, apis=_PLAIN_PATHS)
def _send_to_plain_path(conversation: Json, request: Json) -> None:
    """Sends every request to the path that the API has on its own host."""
    if request["path"].startswith(_CLOUDS):
        (path,) = (path for path in _PLAIN_PATHS.values() if _is_same_api(path, request["path"]))
        request["path"] = path
        request["body"]["model"] = conversation["model"]
        if request["body"].pop("anthropic_version", None):
            request["headers"] |= {_VERSION: "2023-06-01"}


def _is_same_api(plain: str, path: str) -> bool:
    return "anthropic" in path if plain.endswith("messages") else path.endswith(plain.removeprefix("/v1"))


@innocents.register_request("deployment-on-azure", grants.ANY_PATH, apis=["openai-chat"])
def _send_to_deployment(conversation: Json, request: Json) -> None:
    """Sends a request to a deployment on Azure, with the version of the API."""
    if request["path"].startswith("/openai/v1/"):
        path = f"/openai/deployments/{conversation['model']}/chat/completions"
        request["path"] = f"{path}?api-version=2025-04-01-preview"


_RESULTS: Final = {
    _ANTHROPIC: "tool_use_id",
    "bedrock-invoke": "tool_use_id",
    "bedrock-converse": "toolResult",
}


@innocents.register_request("results-in-reverse", grants.ANY_ORDER, apis=_RESULTS)
def _send_results_in_reverse(conversation: Json, request: Json) -> None:
    """Sends the results of several calls in reverse, each with the id of its call."""
    del conversation
    for message in request["body"].get("messages", ()):
        blocks = message["content"] if isinstance(message["content"], list) else []
        places = [n for n, block in enumerate(blocks) if block.keys() & set(_RESULTS.values())]
        results = [blocks[n] for n in reversed(places)]
        for n, result in zip(places, results, strict=True):
            blocks[n] = result
