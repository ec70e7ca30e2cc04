"""Build LangChain's chat models, one per API, configured with a run's server address."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Mapping
from typing import Any, Final

# LangSmith tracing, which the environment may enable, would report every run to a server.
os.environ["LANGSMITH_TRACING"] = os.environ["LANGCHAIN_TRACING_V2"] = "false"

from langchain_anthropic import ChatAnthropic
from langchain_cohere import ChatCohere
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI

from streamconform_peers import control
from streamconform_peers.library_call import TIMEOUT_SECONDS

TLS: Final = dict.fromkeys(("verify", "ssl"), ssl.create_default_context())
"""One TLS context for all of Google's clients, each of which would otherwise create three."""


def _build_openai(run: Any, **settings: Any) -> Any:
    return ChatOpenAI(
        model=run.model,
        base_url=f"{run.base_url}/v1",
        api_key=run.api_key,
        timeout=TIMEOUT_SECONDS,
        stream_usage=True,
        use_responses_api=run.api == "openai-responses",
        **control.turn_off_retries(run, max_retries=0),
        **settings,
    )


def _build_anthropic(run: Any, **settings: Any) -> Any:
    request = run.request or {}  # ChatAnthropic chooses the type of its content by these fields
    return ChatAnthropic(
        model=run.model,
        base_url=run.base_url,
        api_key=run.api_key,
        timeout=TIMEOUT_SECONDS,
        context_management=request.get("context_management"),
        betas=["context-management-2025-06-27"] if "context_management" in request else None,
        **control.turn_off_retries(run, max_retries=0),
        **{"thinking": request.get("thinking"), **settings},
    )


def _build_google(run: Any, **settings: Any) -> Any:
    return ChatGoogleGenerativeAI(
        model=run.model,
        base_url=run.base_url,
        api_key=run.api_key,
        timeout=TIMEOUT_SECONDS,
        vertexai=False,
        client_args=TLS,
        **control.turn_off_retries(run, max_retries=1),
        **settings,
    )


def _build_ollama(run: Any, **settings: Any) -> Any:
    return ChatOllama(
        model=run.model,
        base_url=run.base_url,
        client_kwargs={"timeout": TIMEOUT_SECONDS},
        **{"reasoning": True, **settings},  # without it, thinking is dropped
    )


def _build_cohere(run: Any, **settings: Any) -> Any:
    return ChatCohere(
        model=run.model,
        base_url=run.base_url,
        cohere_api_key=run.api_key,
        timeout_seconds=TIMEOUT_SECONDS,
        **settings,
    )


@control.keep_by_run
def get_model(run: Any) -> Any:
    """Return the model for a run without a conversation."""
    return MODEL_BUILDERS[run.api](run)


MODEL_BUILDERS: Final[Mapping[str, Callable[..., Any]]] = {
    "openai-chat": _build_openai,
    "openai-responses": _build_openai,
    "anthropic-messages": _build_anthropic,
    "google-generate": _build_google,
    "ollama-chat": _build_ollama,
    "cohere-chat": _build_cohere,
}
