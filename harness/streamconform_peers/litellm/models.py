"""Build the arguments for LiteLLM's `completion()`, including LiteLLM's name for the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamconform.adapters import request_reader
from streamconform_peers import control
from streamconform_peers.library_call import TIMEOUT_SECONDS
from streamconform_peers.litellm import settings

PROVIDERS: Final[Mapping[str, tuple[str, str]]] = {
    "openai-chat": ("openai", "/v1"),
    "anthropic-messages": ("anthropic", ""),
    "google-generate": ("gemini", "/v1beta"),
    "ollama-chat": ("ollama_chat", ""),
    "bedrock-converse": ("bedrock/converse", ""),
}
"""For each API, the model name's prefix and the path after the base URL. Source: LiteLLM's provider pages."""
AWS_CREDENTIALS: Final = {
    "aws_access_key_id": "x",
    "aws_secret_access_key": "x",
    "aws_region_name": "us-east-1",
}


def build_arguments(run: Any) -> dict[str, Any]:
    """Return the arguments; Bedrock gets AWS credentials in place of an API key."""
    default_prefix, path = PROVIDERS[run.api]
    prefix = settings.get_prefix(run.conversation, default_prefix)
    arguments: dict[str, Any] = {
        "model": f"{prefix}/{run.model}",
        "api_base": f"{run.base_url}{path}",
        "api_key": run.api_key,
        "timeout": TIMEOUT_SECONDS,
        "stream_options": {"include_usage": True},
        **control.turn_off_retries(run, max_retries=0),
    }
    arguments |= _build_prompt(run)
    if run.api == "bedrock-converse":
        del arguments["api_key"]
        arguments |= AWS_CREDENTIALS
    return arguments


def _build_prompt(run: Any) -> dict[str, Any]:
    """Return the arguments for a conversation, or for the last prompt and the tools of a request."""
    if run.conversation is not None:
        return settings.build_arguments(run.conversation, run.api)
    tools = [
        {"type": "function", "function": {"name": name, "description": text, "parameters": dict(schema)}}
        for name, text, schema in request_reader.read_tools(run.request)
    ]
    prompt = {"messages": [{"role": "user", "content": request_reader.read_prompt(run.request)}]}
    return prompt | ({"tools": tools} if tools else {})
