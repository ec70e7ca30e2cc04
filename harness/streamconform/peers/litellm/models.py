"""What LiteLLM is asked: its name of a model, one an api, and the arguments of `completion()`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamconform.peers import request_reader
from streamconform.peers.litellm import settings
from streamconform.peers.normal_form import SECONDS

PROVIDERS: Final[Mapping[str, tuple[str, str]]] = {
    "openai-chat": ("openai", "/v1"),
    "anthropic-messages": ("anthropic", ""),
    "google-generate": ("gemini", "/v1beta"),
    "ollama-chat": ("ollama_chat", ""),
    "bedrock-converse": ("bedrock/converse", ""),
}
"""What stands before the model's name, and behind the base URL, as its pages on providers say."""
AMAZON: Final = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "aws_region_name": "us-east-1"}


def request(run: Any) -> dict[str, Any]:
    """Return the arguments; keys of Amazon's kind where the api is theirs."""
    usual, path = PROVIDERS[run.api]
    prefix = settings.prefix(run.conversation, usual)
    arguments: dict[str, Any] = {
        "model": f"{prefix}/{run.model}",
        "api_base": f"{run.base_url}{path}",
        "api_key": run.api_key,
        "timeout": SECONDS,
        "max_retries": 0,
        "stream_options": {"include_usage": True},
    }
    arguments |= _said(run)
    if run.api == "bedrock-converse":
        del arguments["api_key"]
        arguments |= AMAZON
    return arguments


def _said(run: Any) -> dict[str, Any]:
    """Return what is said: a conversation, or the last prompt of a request and its tools."""
    if run.conversation is not None:
        return settings.arguments(run.conversation, run.api)
    tools = [
        {"type": "function", "function": {"name": name, "description": words, "parameters": dict(schema)}}
        for name, words, schema in request_reader.tools(run.request)
    ]
    said = {"messages": [{"role": "user", "content": request_reader.prompt(run.request)}]}
    return said | ({"tools": tools} if tools else {})
