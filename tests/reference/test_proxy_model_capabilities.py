"""Thinking is requested only of models that think."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streamconform_proxy import can_think, is_thinking_refusal
from streamconform_proxy.model_capabilities import NOT_SUPPORTED, check_thinking
from streamconform_reference.requests.errors import RequestError

THINKERS = """
    qwen3 qwen3:8b QWEN3:4b qwen3:latest Qwen3-8B-GGUF:Q4_K_M hf.co/x/qwen3:8b hf.co/unsloth/Qwen3-4B-GGUF
    localhost:5000/library/qwen3 qwen3.5:9b deepseek-r1 deepseek-r1:14b magistral:24b nemotron:latest
    nemotron-3-nano:30b glm4 glm4:9b qwq qwq:32b
"""
OTHERS = """
    llama3 llama3.1:8b mistral:latest qwen2.5:7b deepseek-v3 deepseek-coder:6.7b gpt-oss gpt-oss:20b phi4 qw
    qwen3-coder qwen3-coder:30b hf.co/x/Qwen3-Coder-30B-A3B-Instruct-GGUF:Q4 qwen3-30b-a3b-instruct-2507
    qwen3:30b-a3b-instruct-2507-q4_K_M qwen3-vl:8b-instruct my-qwen3 qwen3/llama3 :qwen3
"""

REFUSING = (
    (400, {"error": '"llama3" does not support thinking'}),
    (400, {"error": 'think value "true" is not supported for this model'}),
    (400, {"error": {"message": "Unrecognized request argument supplied: reasoning_effort", "type": "x"}}),
    (422, {"detail": "body.reasoning_effort: Input should be 'low', 'medium' or 'high'"}),
    (400, {"type": "error", "error": {"message": "adaptive thinking is not supported on this model"}}),
)
FAILING = (
    (400, {"error": "invalid options: num_predict"}),
    (404, {"error": "model 'llama3' not found"}),
    (500, {"error": '"llama3" does not support thinking'}),
    (200, {"error": '"llama3" does not support thinking'}),
    (400, None),
)


@pytest.mark.parametrize("model", THINKERS.split())
def test_a_models_name_prefix_decides(model: str) -> None:
    assert can_think(model)


@pytest.mark.parametrize("model", ["", *OTHERS.split()])
def test_other_models_cannot_think(model: str) -> None:
    assert not can_think(model)


@pytest.mark.parametrize("wish", [{}, {"budget": 1024}, {"effort": "high"}])
def test_thinking_is_rejected_for_a_model_that_cannot(wish: dict[str, Any]) -> None:
    with pytest.raises(RequestError) as refusal:
        check_thinking({"model": "llama3:8b", "messages": [], "thinking": wish}, "ollama-chat")
    assert (refusal.value.status, refusal.value.type) == (400, NOT_SUPPORTED)
    assert "model `llama3:8b` does not support it" in refusal.value.message
    assert "deepseek-r1" in refusal.value.message


def test_no_thinking_is_requested_of_any_model() -> None:
    conversation = {"model": "llama3", "messages": []}
    assert check_thinking(conversation, "ollama-chat") == conversation
    assert check_thinking({**conversation, "thinking": "off"}, "ollama-chat") == conversation


def test_thinking_is_disabled_for_a_model_that_thinks() -> None:
    conversation = {"model": "qwen3", "messages": [], "thinking": "off"}
    assert check_thinking(conversation, "ollama-chat") == conversation


def test_other_upstreams_are_not_checked() -> None:
    conversation = {"model": "gpt-6", "messages": [], "thinking": {"budget": 1024}}
    assert check_thinking(conversation, "openai-chat") == conversation


@pytest.mark.parametrize(("status", "document"), REFUSING)
def test_a_server_rejects_thinking(status: int, document: Any) -> None:
    assert is_thinking_refusal(status, json.dumps(document).encode())


@pytest.mark.parametrize(("status", "document"), FAILING)
def test_other_failures_are_not_about_thinking(status: int, document: Any) -> None:
    assert not is_thinking_refusal(status, b"<html>" if document is None else json.dumps(document).encode())
