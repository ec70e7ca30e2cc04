"""LangChain's chat models, one an api, asking a run's server."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Mapping
from typing import Any, Final

os.environ["LANGSMITH_TRACING"] = os.environ["LANGCHAIN_TRACING_V2"] = "false"

from langchain_anthropic import ChatAnthropic
from langchain_cohere import ChatCohere
from langchain_core.messages import HumanMessage
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI

from streamconform.adapters.peers import asked
from streamconform.adapters.peers.normal import SECONDS, at

TLS: Final = dict.fromkeys(("verify", "ssl"), ssl.create_default_context())
"""Made once: each client of Google's makes three of its own."""


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
    given = run.request or {}  # how its content is typed depends on it
    return ChatAnthropic(
        model=run.model,
        base_url=run.base_url,
        api_key=run.api_key,
        max_retries=0,
        timeout=SECONDS,
        thinking=given.get("thinking"),
        context_management=given.get("context_management"),
        betas=["context-management-2025-06-27"] if "context_management" in given else None,
    )


def _google(run: Any) -> Any:
    return ChatGoogleGenerativeAI(
        model=run.model,
        base_url=run.base_url,
        api_key=run.api_key,
        max_retries=1,
        timeout=SECONDS,
        vertexai=False,
        client_args=TLS,
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


def prompt(run: Any) -> Any:
    """Return the prompt of a run; one with documents as it is, for how an answer is typed depends on them."""
    content = at(((run.request or {}).get("messages") or [None])[-1], "content")
    documents = isinstance(content, list) and any(at(each, "type") == "document" for each in content)
    return [HumanMessage(content)] if documents else asked.prompt(run.request)


def tools(run: Any) -> list[dict[str, Any]]:
    """Return the tools for `bind_tools`, which takes Anthropic's own form as it is."""
    if run.api == "anthropic-messages":
        return list((run.request or {}).get("tools") or [])
    if run.api == "cohere-chat":  # a JSON Schema, its title the name
        return [
            {**schema, "title": name, "description": words, "properties": schema.get("properties", {})}
            for name, words, schema in asked.tools(run.request)
        ]
    return [
        {"type": "function", "function": {"name": name, "description": words, "parameters": schema}}
        for name, words, schema in asked.tools(run.request)
    ]
