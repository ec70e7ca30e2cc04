"""A vendor's clients are judged only on streams that the vendor may send."""

from __future__ import annotations

import pytest

from streamconform import load_cases
from streamconform.adapters.host import build_greeting
from streamconform.adapters.interface import Greeting
from streamconform.model.trial import Trial
from streamconform.run.plan import explain_skip
from streamconform.run.vendor import explain_foreign_trial
from streamconform.schemas import find_problems
from streamconform.suite.expand import make_trial
from streamconform_peers.table import PEERS

MISTRAL = Greeting(name="x", vendor="mistral")

# Of the schemas CompletionChunk, DeltaMessage and ToolCall of https://docs.mistral.ai/api.
SENT = (
    "text/text-plain",
    "tool-calls/name-empty-on-later-fragments",
    "reasoning/mistral-content-array",
    "truncation/cut-inside-json",
    "errors/http-200-html",
    "errors/http-500",
)
NOT_SENT = {
    "tool-calls/parallel-calls": "does not send such a stream: frame ",
    "tool-calls/legacy-function-call": "choices.0.delta.function_call",
    "errors/error-mid-text": '"id" is a required property',
    "stop-reasons/stop-content-filter": '"content_filter" is not one of',
    "llama-cpp/thinking-text": "reasoning_content",
    "reasoning/reasoning-text-field": "a stream from ",
}


@pytest.mark.parametrize("name", SENT)
def test_what_a_vendor_sends_is_judged(name):
    (case,) = load_cases([f"openai-chat/{name}"])
    assert explain_skip(case, MISTRAL) is None


@pytest.mark.parametrize("name", NOT_SENT)
def test_what_a_vendor_does_not_send_is_skipped_with_the_reason(name):
    (case,) = load_cases([f"openai-chat/{name}"])
    assert explain_skip(case, Greeting(name="x")) is None
    assert NOT_SENT[name] in (explain_skip(case, MISTRAL) or "")


@pytest.mark.parametrize(
    ("delivery", "judged"), [("bytewise", True), ("error-frame", False), ("unknown-event", False)]
)
def test_a_frame_that_only_the_api_documents_is_not_judged(delivery, judged):
    (case,) = load_cases(["openai-chat/text/text-plain"])
    trial = make_trial(case, delivery, 0)
    assert isinstance(trial, Trial)
    assert (explain_foreign_trial(trial, "mistral") is None) == judged
    assert explain_foreign_trial(trial, "deepseek") is None


def test_an_error_frame_like_that_of_the_api_is_judged_where_the_vendor_documents_it():
    (case,) = load_cases(["openai-chat/text/text-plain"])
    trial = make_trial(case, "error-frame", 0)
    assert isinstance(trial, Trial)
    for vendor in ("groq", "together", "cerebras", "zhipu"):
        assert explain_foreign_trial(trial, vendor) is None
    assert "does not document the frame" in (explain_foreign_trial(trial, "openrouter") or "")


# Of the API references of these vendors, which `openai_chat_vendors.py` links.
@pytest.mark.parametrize(
    ("vendor", "name", "reason"),
    [
        ("groq", "tool-calls/custom-call", '"custom" is not one of'),
        ("groq", "llama-cpp/thinking-text", "delta.reasoning_content"),
        ("groq", "errors/error-bare-string", "error: "),
        ("groq", "tool-calls/legacy-function-call", None),
        ("groq", "errors/error-string-code", None),
        ("together", "stop-reasons/stop-content-filter", '"content_filter" is not one of'),
        ("together", "llama-cpp/thinking-text", None),
        ("zhipu", "tool-calls/index-missing-in-fragments", '"index" is a required property'),
        ("zhipu", "stop-reasons/finish-sensitive", None),
        ("openrouter", "errors/error-mid-text", '"id" is a required property'),
        ("openrouter", "stop-reasons/end-turn-from-a-gateway", None),
        ("openrouter", "litellm/length", '"finish_reason" is a required property'),
        ("openrouter", "usage/usage-final-chunk", 'usage: null is not of type "object"'),
        ("openrouter", "usage/usage-openrouter", None),
        ("openrouter", "errors/http-401-invalid-key", "error.code"),
        ("openrouter", "errors/http-503-empty-body", None),
        ("groq", "errors/http-401-invalid-key", None),
        ("cerebras", "reasoning/reasoning-field", None),
        ("cerebras", "llama-cpp/thinking-text", "delta.reasoning_content"),
        ("cerebras", "tool-calls/custom-call", '"custom" is not one of'),
    ],
)
def test_the_limits_of_each_vendor_are_those_that_it_documents(vendor, name, reason):
    (case,) = load_cases([f"openai-chat/{name}"])
    skip = explain_skip(case, Greeting(name="x", vendor=vendor))
    assert (skip is None) if reason is None else (reason in (skip or ""))


def test_a_client_of_a_vendor_without_documented_limits_is_judged_on_all_but_the_streams_of_others():
    (case,) = load_cases(["openai-chat/tool-calls/parallel-calls"])
    assert explain_skip(case, Greeting(name="x", vendor="deepseek")) is None


def test_every_vendor_of_a_peer_has_streams():
    tags = {tag for case in load_cases(["openai-chat/**"]) for tag in case.tags}
    for peer in PEERS.values():
        assert peer.vendor is None or f"vendor-{peer.vendor}" in tags, peer.name


def test_the_attributes_of_an_adapter_become_its_greeting():
    def adapter(run):
        del run

    adapter.apis, adapter.inputs, adapter.capabilities = ("openai-chat",), ["http"], {"usage"}
    adapter.vendor, adapter.lacks = "mistral", {"session"}
    greeting = build_greeting(adapter, "mine:adapter")
    assert find_problems("protocol.v1", greeting, "hello") == ()
    assert greeting["vendor"] == "mistral"
    assert greeting["lacks"] == ["session"]


def test_half_a_surrogate_pair_is_checked_like_other_text():
    (case,) = load_cases(["openai-chat/text/half-a-character-per-delta"])
    assert explain_skip(case, MISTRAL) is None
