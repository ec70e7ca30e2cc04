"""Pydantic AI's models, one an api, with a provider that asks a run's server; what its exceptions tell."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from typing import Any, Final

from anthropic import AsyncAnthropic
from botocore.eventstream import ParserError
from google.genai import Client as GoogleClient
from openai import AsyncOpenAI
from pydantic_ai import exceptions
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.bedrock import BedrockConverseModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.mistral import MistralModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.bedrock import BedrockProvider
from pydantic_ai.providers.cerebras import CerebrasProvider
from pydantic_ai.providers.deepseek import DeepSeekProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.mistral import MistralProvider
from pydantic_ai.providers.openai import OpenAIProvider

from streamconform.peers.boto3 import converse
from streamconform.peers.normal_form import SECONDS, Error, at, raised

TLS: Final = dict.fromkeys(("verify", "ssl"), ssl.create_default_context())
"""Made once: each client of Google's makes three of its own."""
LIMITS: Final[Mapping[str, Any]] = {"max_retries": 0, "timeout": SECONDS}


def _client(run: Any) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=f"{run.base_url}/v1", api_key=run.api_key, **LIMITS)


def _openai(run: Any) -> OpenAIProvider:
    return OpenAIProvider(openai_client=_client(run))


def _anthropic(run: Any) -> AnthropicProvider:
    client = AsyncAnthropic(base_url=run.base_url, api_key=run.api_key, **LIMITS)
    return AnthropicProvider(anthropic_client=client)


def _google(run: Any) -> GoogleProvider:
    options = {
        "base_url": run.base_url,
        "timeout": int(SECONDS * 1000),
        "retry_options": {"attempts": 1},
        "client_args": TLS,
        "async_client_args": TLS,
    }
    return GoogleProvider(client=GoogleClient(api_key=run.api_key, vertexai=False, http_options=options))


def _bedrock(run: Any) -> BedrockProvider:
    return BedrockProvider(bedrock_client=converse.client(run))


MODELS: Final[Mapping[str, tuple[Callable[..., Any], Callable[[Any], Any]]]] = {
    "openai-chat": (OpenAIChatModel, _openai),
    "openai-responses": (OpenAIResponsesModel, _openai),
    "anthropic-messages": (AnthropicModel, _anthropic),
    "google-generate": (GoogleModel, _google),
    "bedrock-converse": (BedrockConverseModel, _bedrock),
}


VENDORS: Final[Mapping[str, tuple[Callable[..., Any], Callable[[Any], Any]]]] = {
    "api.mistral.ai": (MistralModel, lambda run: MistralProvider(api_key=run.api_key, base_url=run.base_url)),
    "api.deepseek.com": (OpenAIChatModel, lambda run: DeepSeekProvider(openai_client=_client(run))),
    "api.cerebras.ai": (OpenAIChatModel, lambda run: CerebrasProvider(openai_client=_client(run))),
}
"""Hosts that speak Chat Completions and have a provider of their own."""


def model_of(run: Any) -> Any:
    """Return the model that is asked; of a conversation that names its host, with the host's provider."""
    host = ((run.conversation or {}).get("facts") or {}).get("host", "")
    vendor = VENDORS.get(host) if run.api == "openai-chat" else None
    made, provider = vendor or MODELS[run.api]
    return made(run.model, provider=provider(run))


def told(error: Exception) -> Error | None:
    """Return the error that an exception tells; None where the connection was lost."""
    if isinstance(error, exceptions.ModelConnectionError):
        return None
    if not isinstance(error, exceptions.ModelAPIError):
        return raised(error)
    body = at(error, "body")
    said = next((each for name in ("error", "Error") if isinstance(each := at(body, name), Mapping)), body)
    kinds = [at(said, name) for name in ("type", "code", "Code", "status")]
    kind = next((each for each in kinds if isinstance(each, str)), None)
    if body is None and isinstance(error.__cause__, (ValueError, ParserError)):
        kind = "protocol"  # it refuses the bytes
    message = at(said, "message") or at(said, "Message") or error.message
    return {"type": kind, "message": message, "status": at(error, "status_code")}
