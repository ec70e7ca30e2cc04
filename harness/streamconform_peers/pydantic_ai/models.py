"""Build Pydantic AI's models, one per API, for a run's server address, and describe exceptions."""

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

from streamconform.normal.blocks import Error, get
from streamconform_peers import bedrock_client, control
from streamconform_peers.library_call import TIMEOUT_SECONDS, describe_exception

TLS: Final = dict.fromkeys(("verify", "ssl"), ssl.create_default_context())
"""One TLS context for all of Google's clients, each of which would otherwise create three."""


def _get_options(run: Any) -> dict[str, Any]:
    return {"timeout": TIMEOUT_SECONDS, **control.turn_off_retries(run, max_retries=0)}


def _build_client(run: Any) -> AsyncOpenAI:
    # Requests that the library sends over HTTP in place of the WebSocket go to the same server.
    over_http = run.base_url.replace("ws:", "http:", 1)
    socket = {} if run.transport == "http" else {"websocket_base_url": f"{run.base_url}/v1"}
    return AsyncOpenAI(base_url=f"{over_http}/v1", api_key=run.api_key, **socket, **_get_options(run))


def _build_openai(run: Any) -> OpenAIProvider:
    return OpenAIProvider(openai_client=_build_client(run))


def _build_anthropic(run: Any) -> AnthropicProvider:
    client = AsyncAnthropic(base_url=run.base_url, api_key=run.api_key, **_get_options(run))
    return AnthropicProvider(anthropic_client=client)


def _build_google(run: Any) -> GoogleProvider:
    options = {
        "base_url": run.base_url,
        "timeout": int(TIMEOUT_SECONDS * 1000),
        **control.turn_off_retries(run, retry_options={"attempts": 1}),
        "client_args": TLS,
        "async_client_args": TLS,
    }
    return GoogleProvider(client=GoogleClient(api_key=run.api_key, vertexai=False, http_options=options))


def _build_bedrock(run: Any) -> BedrockProvider:
    return BedrockProvider(bedrock_client=bedrock_client.get_client(run))


MODELS: Final[Mapping[str, tuple[Callable[..., Any], Callable[[Any], Any]]]] = {
    "openai-chat": (OpenAIChatModel, _build_openai),
    "openai-responses": (OpenAIResponsesModel, _build_openai),
    "anthropic-messages": (AnthropicModel, _build_anthropic),
    "google-generate": (GoogleModel, _build_google),
    "bedrock-converse": (BedrockConverseModel, _build_bedrock),
}


HOST_MODELS: Final[Mapping[str, tuple[Callable[..., Any], Callable[[Any], Any]]]] = {
    "api.mistral.ai": (MistralModel, lambda run: MistralProvider(api_key=run.api_key, base_url=run.base_url)),
    "api.deepseek.com": (
        OpenAIChatModel,
        lambda run: DeepSeekProvider(openai_client=_build_client(run)),
    ),
    "api.cerebras.ai": (
        OpenAIChatModel,
        lambda run: CerebrasProvider(openai_client=_build_client(run)),
    ),
}
"""The model and provider classes for hosts of the Chat Completions API that Pydantic AI supports by name."""


@control.keep_by_run
def build_model(run: Any) -> Any:
    """Return the run's model, with the provider for the conversation's host if that host is known."""
    host = ((run.conversation or {}).get("facts") or {}).get("host", "")
    host_model = HOST_MODELS.get(host) if run.api == "openai-chat" else None
    model_type, build_provider = host_model or MODELS[run.api]
    return model_type(run.model, provider=build_provider(run))


def describe_error(error: Exception) -> Error | None:
    """Return the error that an exception carries; None if the connection was lost."""
    if isinstance(error, exceptions.ModelConnectionError):
        return None
    if not isinstance(error, exceptions.ModelAPIError):
        return describe_exception(error)
    body = get(error, "body")
    values = (get(body, name) for name in ("error", "Error"))
    details = next((value for value in values if isinstance(value, Mapping)), body)
    kinds = [get(details, name) for name in ("type", "code", "Code", "status")]
    kind = next((value for value in kinds if isinstance(value, str)), None)
    if body is None and isinstance(error.__cause__, (ValueError, ParserError)):
        kind = "protocol"  # the SDK rejected the bytes
    message = get(details, "message") or get(details, "Message") or error.message
    return {"type": kind, "message": message, "status": get(error, "status_code")}


def describe_socket_error(error: Exception) -> Error | None:
    """Return the same over a WebSocket, where the code of an error says more than its type."""
    described, code = describe_error(error), get(get(error, "body"), "code")
    return {**described, "type": code} if described is not None and isinstance(code, str) else described
