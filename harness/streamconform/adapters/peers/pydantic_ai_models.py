"""Pydantic AI's models, one an api, with a provider that asks a run's server; what its exceptions tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import boto3
from anthropic import AsyncAnthropic
from botocore.config import Config
from google.genai import Client as GoogleClient
from openai import AsyncOpenAI
from pydantic_ai import exceptions
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.bedrock import BedrockConverseModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.bedrock import BedrockProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider

from streamconform.adapters.peers.normal import SECONDS, Error, at, raised

LIMITS: Final[Mapping[str, Any]] = {"max_retries": 0, "timeout": SECONDS}


def _openai(run: Any) -> OpenAIProvider:
    client = AsyncOpenAI(base_url=f"{run.base_url}/v1", api_key=run.api_key, **LIMITS)
    return OpenAIProvider(openai_client=client)


def _anthropic(run: Any) -> AnthropicProvider:
    client = AsyncAnthropic(base_url=run.base_url, api_key=run.api_key, **LIMITS)
    return AnthropicProvider(anthropic_client=client)


def _google(run: Any) -> GoogleProvider:
    options = {
        "base_url": run.base_url,
        "timeout": int(SECONDS * 1000),
        "retry_options": {"attempts": 1},
    }
    return GoogleProvider(client=GoogleClient(api_key=run.api_key, vertexai=False, http_options=options))


def _bedrock(run: Any) -> BedrockProvider:
    config = Config(retries={"total_max_attempts": 1}, read_timeout=SECONDS)
    session = boto3.Session(aws_access_key_id="x", aws_secret_access_key="x", region_name="us-east-1")  # noqa: S106
    client = session.client("bedrock-runtime", endpoint_url=run.base_url, config=config)
    return BedrockProvider(bedrock_client=client)


MODELS: Final[Mapping[str, tuple[Callable[..., Any], Callable[[Any], Any]]]] = {
    "openai-chat": (OpenAIChatModel, _openai),
    "openai-responses": (OpenAIResponsesModel, _openai),
    "anthropic-messages": (AnthropicModel, _anthropic),
    "google-generate": (GoogleModel, _google),
    "bedrock-converse": (BedrockConverseModel, _bedrock),
}


def told(error: Exception) -> Error | None:
    """Return the error that an exception tells; None where the connection was lost."""
    if isinstance(error, exceptions.ModelConnectionError):
        return None
    if isinstance(error, exceptions.ModelAPIError):
        body = at(error, "body")
        said = at(body, "error") if isinstance(at(body, "error"), Mapping) else body
        message = at(said, "message")
        kind = at(said, "type") or at(said, "code")
        status = at(error, "status_code")
        kind = kind if isinstance(kind, str) else at(said, "status")
        return {"type": kind, "message": message or error.message, "status": status}
    return raised(error)
