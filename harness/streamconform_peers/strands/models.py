"""Build Strands' model providers, one per API, configured with a run's server address."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import boto3
from strands.models.anthropic import AnthropicModel
from strands.models.bedrock import BedrockModel
from strands.models.gemini import GeminiModel
from strands.models.openai import OpenAIModel
from strands.models.openai_responses import OpenAIResponsesModel

from streamconform_peers.bedrock_client import CONFIG
from streamconform_peers.normal_form import TIMEOUT_SECONDS

CLIENT_OPTIONS: Final[Mapping[str, Any]] = {"max_retries": 0, "timeout": TIMEOUT_SECONDS}
SESSION: Final = boto3.Session(aws_access_key_id="x", aws_secret_access_key="x", region_name="us-east-1")  # noqa: S106


def _build_openai(model: Callable[..., Any], run: Any) -> Any:
    return model(
        client_args={"base_url": f"{run.base_url}/v1", "api_key": run.api_key, **CLIENT_OPTIONS},
        model_id=run.model,
    )


def _build_anthropic(run: Any) -> AnthropicModel:
    return AnthropicModel(
        client_args={"base_url": run.base_url, "api_key": run.api_key, **CLIENT_OPTIONS},
        model_id=run.model,
        # Anthropic's API requires this field.
        max_tokens=1024,
    )


def _build_gemini(run: Any) -> GeminiModel:
    http_options = {
        "base_url": run.base_url,
        "timeout": int(TIMEOUT_SECONDS * 1000),
        "retry_options": {"attempts": 1},
    }
    return GeminiModel(
        client_args={"api_key": run.api_key, "vertexai": False, "http_options": http_options},
        model_id=run.model,
    )


def _build_bedrock(run: Any) -> BedrockModel:
    return BedrockModel(
        boto_session=SESSION,
        boto_client_config=CONFIG,
        endpoint_url=run.base_url,
        model_id=run.model,
    )


MODEL_BUILDERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "openai-chat": lambda run: _build_openai(OpenAIModel, run),
    "openai-responses": lambda run: _build_openai(OpenAIResponsesModel, run),
    "anthropic-messages": _build_anthropic,
    "google-generate": _build_gemini,
    "bedrock-converse": _build_bedrock,
}
