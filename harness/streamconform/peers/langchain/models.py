"""LangChain's chat models, one an api, asking a run's server."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

os.environ["LANGSMITH_TRACING"] = os.environ["LANGCHAIN_TRACING_V2"] = "false"

from langchain_anthropic import ChatAnthropic
from langchain_cohere import ChatCohere
from langchain_core.messages import HumanMessage
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI

from streamconform.peers import request_reader
from streamconform.peers.normal_form import SECONDS, at

TLS: Final = dict.fromkeys(("verify", "ssl"), ssl.create_default_context())
"""Made once: each client of Google's makes three of its own."""


def _openai(run: Any, **more: Any) -> Any:
    return ChatOpenAI(
        model=run.model,
        base_url=f"{run.base_url}/v1",
        api_key=run.api_key,
        max_retries=0,
        timeout=SECONDS,
        stream_usage=True,
        use_responses_api=run.api == "openai-responses",
        **more,
    )


def _anthropic(run: Any, **more: Any) -> Any:
    given = run.request or {}  # how its content is typed depends on it
    return ChatAnthropic(
        model=run.model,
        base_url=run.base_url,
        api_key=run.api_key,
        max_retries=0,
        timeout=SECONDS,
        context_management=given.get("context_management"),
        betas=["context-management-2025-06-27"] if "context_management" in given else None,
        **{"thinking": given.get("thinking"), **more},
    )


def _google(run: Any, **more: Any) -> Any:
    return ChatGoogleGenerativeAI(
        model=run.model,
        base_url=run.base_url,
        api_key=run.api_key,
        max_retries=1,
        timeout=SECONDS,
        vertexai=False,
        client_args=TLS,
        **more,
    )


def _ollama(run: Any, **more: Any) -> Any:
    return ChatOllama(
        model=run.model,
        base_url=run.base_url,
        client_kwargs={"timeout": SECONDS},
        **{"reasoning": bool((run.request or {}).get("think")) or None, **more},
    )


def _cohere(run: Any, **more: Any) -> Any:
    return ChatCohere(
        model=run.model, base_url=run.base_url, cohere_api_key=run.api_key, timeout_seconds=SECONDS, **more
    )


MODELS: Final[Mapping[str, Callable[..., Any]]] = {
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
    return [HumanMessage(content)] if documents else request_reader.prompt(run.request)


def tools(run: Any) -> list[dict[str, Any]]:
    """Return the tools for `bind_tools`, which takes Anthropic's own form as it is."""
    if run.conversation is not None:
        return _declared(run.api, run.conversation.get("tools", ()))
    if run.api == "anthropic-messages":
        return list((run.request or {}).get("tools") or [])
    found = request_reader.tools(run.request)
    return _declared(run.api, [{"name": n, "description": words, "parameters": s} for n, words, s in found])


def _declared(api: str, tools: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    if api == "cohere-chat":  # a JSON Schema, its title the name
        return [
            {
                **each["parameters"],
                "title": each["name"],
                "description": each.get("description", ""),
                "properties": each["parameters"].get("properties", {}),
            }
            for each in tools
        ]
    return [{"type": "function", "function": dict(each)} for each in tools]
