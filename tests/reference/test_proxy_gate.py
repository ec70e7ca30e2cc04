"""Thinking is requested only of models that think."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streamconform_proxy import thinking_refused, thinks
from streamconform_proxy.model_capabilities import NOT_SUPPORTED, gated
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
def test_a_model_thinks_by_how_its_name_begins(model: str) -> None:
    assert thinks(model)


@pytest.mark.parametrize("model", ["", *OTHERS.split()])
def test_no_other_model_does(model: str) -> None:
    assert not thinks(model)


@pytest.mark.parametrize("wish", [{}, {"budget": 1024}, {"effort": "high"}])
def test_thinking_of_a_model_that_does_not_is_refused(wish: dict[str, Any]) -> None:
    with pytest.raises(RequestError) as refusal:
        gated({"model": "llama3:8b", "messages": [], "thinking": wish}, "ollama-chat")
    assert (refusal.value.status, refusal.value.type) == (400, NOT_SUPPORTED)
    assert "`llama3:8b` does not think" in refusal.value.message
    assert "deepseek-r1" in refusal.value.message


def test_no_thinking_is_requested_of_any_model() -> None:
    asked = {"model": "llama3", "messages": []}
    assert gated(asked, "ollama-chat") == asked
    assert gated({**asked, "thinking": "off"}, "ollama-chat") == asked


def test_thinking_is_disabled_for_a_model_that_thinks() -> None:
    asked = {"model": "qwen3", "messages": [], "thinking": "off"}
    assert gated(asked, "ollama-chat") == asked


def test_the_table_is_about_no_other_upstream() -> None:
    asked = {"model": "gpt-6", "messages": [], "thinking": {"budget": 1024}}
    assert gated(asked, "openai-chat") == asked


@pytest.mark.parametrize(("status", "document"), REFUSING)
def test_a_server_rejects_thinking(status: int, document: Any) -> None:
    assert thinking_refused(status, json.dumps(document).encode())


@pytest.mark.parametrize(("status", "document"), FAILING)
def test_other_failures_are_not_about_thinking(status: int, document: Any) -> None:
    assert not thinking_refused(status, b"<html>" if document is None else json.dumps(document).encode())
