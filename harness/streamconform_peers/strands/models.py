"""Build Strands' model providers, one per API, configured with a run's server address."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import boto3
from anthropic.resources.messages import AsyncMessages
from google.genai.types import Tool
from openai.resources.chat.completions import AsyncCompletions
from openai.resources.responses import AsyncResponses
from strands.models.anthropic import AnthropicModel
from strands.models.bedrock import BedrockModel
from strands.models.gemini import GeminiModel
from strands.models.openai import OpenAIModel
from strands.models.openai_responses import OpenAIResponsesModel

from streamconform.adapters.request_reader import build_keywords
from streamconform.normal.blocks import get
from streamconform_peers import control
from streamconform_peers.bedrock_client import build_config
from streamconform_peers.library_call import TIMEOUT_SECONDS

SESSION: Final = boto3.Session(aws_access_key_id="x", aws_secret_access_key="x", region_name="us-east-1")  # noqa: S106


def _get_options(run: Any) -> dict[str, Any]:
    return {
        "api_key": run.api_key,
        "timeout": TIMEOUT_SECONDS,
        **control.turn_off_retries(run, max_retries=0),
    }


def _build_openai(model: Callable[..., Any], run: Any, **settings: Any) -> Any:
    return model(
        client_args={"base_url": f"{run.base_url}/v1", **_get_options(run)},
        model_id=run.model,
        **settings,
    )


def _build_anthropic(run: Any, **settings: Any) -> AnthropicModel:
    return AnthropicModel(
        client_args={"base_url": run.base_url, **_get_options(run)},
        model_id=run.model,
        # Anthropic's API requires this field.
        **{"max_tokens": 1024, **settings},
    )


def _build_gemini(run: Any, **settings: Any) -> GeminiModel:
    http_options = {
        "base_url": run.base_url,
        "timeout": int(TIMEOUT_SECONDS * 1000),
        **control.turn_off_retries(run, retry_options={"attempts": 1}),
    }
    return GeminiModel(
        client_args={"api_key": run.api_key, "vertexai": False, "http_options": http_options},
        model_id=run.model,
        **settings,
    )


def _build_bedrock(run: Any, **settings: Any) -> BedrockModel:
    return BedrockModel(
        boto_session=SESSION,
        boto_client_config=build_config(run),
        endpoint_url=run.base_url,
        model_id=run.model,
        **settings,
    )


MODEL_BUILDERS: Final[Mapping[str, Callable[..., Any]]] = {
    "openai-chat": partial(_build_openai, OpenAIModel),
    "openai-responses": partial(_build_openai, OpenAIResponsesModel),
    "anthropic-messages": _build_anthropic,
    "google-generate": _build_gemini,
    "bedrock-converse": _build_bedrock,
}

NOT_PARAMS: Final = ("model", "messages", "input", "tools", "stream", "stream_options", "context_management")
"""Fields of a request that the library sets, or, for the last one, that it has no place for."""


def read_settings(run: Any) -> dict[str, Any]:
    """Return the settings of a model's class, most of them the provider's own fields, of a request."""
    request = run.request or {}
    params = {name: value for name, value in request.items() if name not in NOT_PARAMS}
    match run.api:
        case "bedrock-converse":
            fields = {
                "max_tokens": get(request, "inferenceConfig", "maxTokens"),
                "additional_request_fields": request.get("additionalModelRequestFields"),
            }
            return {name: value for name, value in fields.items() if value is not None}
        case "google-generate":
            tools = [Tool(**tool) for tool in request.get("tools", ()) if "functionDeclarations" not in tool]
            config = {"params": dict(request.get("generationConfig", {}))}
            return config | ({"gemini_tools": tools} if tools else {})
        case "anthropic-messages":
            tools = [tool for tool in request.get("tools", ()) if "input_schema" not in tool]
            max_tokens = {"max_tokens": params.pop("max_tokens")} if "max_tokens" in params else {}
            params = build_keywords(AsyncMessages.stream, params)
            return {"params": params, "anthropic_tools": tools, **max_tokens}
        case _:
            create = AsyncCompletions.create if run.api == "openai-chat" else AsyncResponses.create
            return {"params": build_keywords(create, params)}
