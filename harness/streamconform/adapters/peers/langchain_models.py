"""LangChain's chat models, one an api, asking a run's server."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Final

os.environ["LANGSMITH_TRACING"] = os.environ["LANGCHAIN_TRACING_V2"] = "false"

from langchain_anthropic import ChatAnthropic
from langchain_cohere import ChatCohere
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI

from streamconform.adapters.peers.normal import SECONDS


def _openai(run: Any) -> Any:
    return ChatOpenAI(
        model=run.model,
        base_url=f"{run.base_url}/v1",
        api_key=run.api_key,
        max_retries=0,
        timeout=SECONDS,
        stream_usage=True,
        use_responses_api=run.api == "openai-responses",
    )


def _anthropic(run: Any) -> Any:
    thinking = (run.request or {}).get("thinking")  # how its content is typed depends on it
    return ChatAnthropic(
        model=run.model,
        base_url=run.base_url,
        api_key=run.api_key,
        max_retries=0,
        timeout=SECONDS,
        thinking=thinking,
    )


def _google(run: Any) -> Any:
    return ChatGoogleGenerativeAI(
        model=run.model,
        base_url=run.base_url,
        api_key=run.api_key,
        max_retries=1,
        timeout=SECONDS,
        vertexai=False,
    )


def _ollama(run: Any) -> Any:
    return ChatOllama(
        model=run.model,
        base_url=run.base_url,
        client_kwargs={"timeout": SECONDS},
        reasoning=bool((run.request or {}).get("think")) or None,
    )


def _cohere(run: Any) -> Any:
    return ChatCohere(
        model=run.model, base_url=run.base_url, cohere_api_key=run.api_key, timeout_seconds=SECONDS
    )


MODELS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "openai-chat": _openai,
    "openai-responses": _openai,
    "anthropic-messages": _anthropic,
    "google-generate": _google,
    "ollama-chat": _ollama,
    "cohere-chat": _cohere,
}
