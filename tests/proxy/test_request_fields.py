"""No field of a request is dropped silently: it is translated, rejected, or named in the access log."""

from __future__ import annotations

import json

import pytest

from streamconform_proxy import Route, translate_request
from streamconform_reference.requests.errors import RequestError

from .started import REQUEST, TO_ANTHROPIC, TO_OLLAMA, TO_OPENAI, proxied, run
from .upstreams import saying

TOOL = {"name": "f", "input_schema": {"type": "object"}}


def translate(route: Route, **fields):
    return translate_request(route, json.dumps(REQUEST | fields).encode(), {})


MAPPED = [
    (TO_OPENAI, {"output_config": {"effort": "high"}}, {"reasoning_effort": "high"}),
    (TO_OPENAI, {"output_config": {"effort": "max"}}, {"reasoning_effort": "xhigh"}),
    (
        TO_OPENAI,
        {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
        {"reasoning_effort": "low"},
    ),
    (
        TO_OPENAI,
        {"thinking": {"type": "disabled"}, "output_config": {"effort": "low"}},
        {"reasoning_effort": "none"},
    ),
    (TO_OLLAMA, {"thinking": {"type": "adaptive"}}, {"think": True}),
    (
        TO_OLLAMA,
        {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
        {"think": "low"},
    ),
]


@pytest.mark.parametrize(("route", "fields", "expected"), MAPPED, ids=lambda value: str(value)[:60])
def test_effort_and_adaptive_thinking_are_translated(route, fields, expected):
    request = translate(route, **fields)
    assert expected.items() <= request.body.items()
    assert request.ignored == ()


IGNORED = [
    (TO_OLLAMA, {}, ()),
    (TO_OPENAI, {"thinking": {"type": "adaptive"}}, ("thinking (the upstream's default applies)",)),
    (TO_OLLAMA, {"output_config": {"effort": "low"}}, ("output_config.effort",)),
    (TO_OPENAI, {"context_management": {"edits": []}}, ("context_management",)),
    (TO_OPENAI, {"brand_new": 1, "absent": None}, ("brand_new",)),
    (TO_OPENAI, {"output_config": {"task_budget": {"total": 9}}}, ("output_config.task_budget",)),
    (TO_OPENAI, {"top_k": 40, "metadata": {"user_id": "u"}}, ("top_k",)),
    (TO_OLLAMA, {"metadata": {"user_id": "u"}}, ("metadata.user_id",)),
    (TO_OLLAMA, {"tools": [TOOL | {"defer_loading": True}]}, ("tools.defer_loading",)),
    (TO_OLLAMA, {"tools": [TOOL], "tool_choice": {"type": "any"}}, ("tool_choice.type any",)),
    (TO_OLLAMA, {"cache_control": {"type": "ephemeral"}}, ("cache_control",)),
    (TO_ANTHROPIC, {"seed": 7, "verbosity": "low"}, ("seed", "verbosity")),
    (TO_ANTHROPIC, {"logprobs": False, "store": True}, ("store",)),
    (
        TO_ANTHROPIC,
        {"stream_options": {"include_obfuscation": False}},
        ("stream_options.include_obfuscation",),
    ),
    (TO_ANTHROPIC, {"response_format": {"type": "json_object"}}, ("response_format.type json_object",)),
]


@pytest.mark.parametrize(("route", "fields", "expected"), IGNORED, ids=lambda value: str(value)[:60])
def test_a_field_without_counterpart_is_named(route, fields, expected):
    assert translate(route, **fields).ignored == expected


REJECTED = [
    (TO_OPENAI, {"mcp_servers": [{"type": "url"}]}, "mcp_servers"),
    (TO_OLLAMA, {"container": "c"}, "container"),
    (TO_ANTHROPIC, {"functions": [{"name": "f"}]}, "functions"),
    (TO_ANTHROPIC, {"logprobs": True}, "logprobs"),
    (TO_ANTHROPIC, {"audio": {"voice": "x"}}, "audio"),
    (TO_OPENAI, {"output_config": {"effort": "huge"}}, "output_config.effort"),
]


@pytest.mark.parametrize(("route", "fields", "name"), REJECTED, ids=lambda value: str(value)[:60])
def test_a_field_that_the_client_relies_on_is_rejected(route, fields, name):
    with pytest.raises(RequestError) as caught:
        translate(route, **fields)
    assert caught.value.status == 400
    assert caught.value.message.startswith(f"{name}: ")


def test_the_access_log_names_the_ignored_fields():
    async def test():
        async with proxied(saying("Hello")) as setup:
            fields = {f"x{i}": i for i in range(14)} | {"new\x1b[31m": 1}
            assert (await setup.post(REQUEST | fields)).status == 200
            await setup.logged.wait()
            (line,) = setup.log
            assert "ignored: x0, x1, x2" in line
            assert line.endswith("and 3 more")
            assert "\x1b" not in line

    run(test())
