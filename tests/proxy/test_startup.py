"""The proxy's startup message and access log, and their documentation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from streamconform_proxy import ROUTES, Route
from streamconform_proxy.access_log import MAX_LINE, AccessRecord
from streamconform_proxy.bounds import ProxyBounds
from streamconform_proxy.startup import format_startup

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "translating-proxy.md").read_text("utf-8")
OLLAMA = Route(client="anthropic-messages", upstream="ollama-chat", models={"*": "qwen3:8b"})


def format_lines(route):
    keys = "the upstream gets each client's own key"
    return list(
        format_startup(
            "http://127.0.0.1:8089", route, "http://127.0.0.1:11434", keys=keys, bounds=ProxyBounds().summary
        )
    )


def test_the_documentation_quotes_the_startup_message():
    assert "\n".join(format_lines(OLLAMA)) in PAGE


@pytest.mark.parametrize(("client", "upstream"), ROUTES)
def test_every_route_is_documented_and_names_the_clients_variable(client, upstream):
    assert f"| `{client}` | `{upstream}` |" in PAGE
    message = "\n".join(format_lines(Route(client=client, upstream=upstream)))
    variable = {"anthropic-messages": "ANTHROPIC_BASE_URL=", "openai-chat": "OPENAI_BASE_URL="}[client]
    assert variable in message
    assert ("thinking:" in message) == (upstream == "ollama-chat")
    assert message.endswith(ProxyBounds().summary)


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        ({}, "unchanged"),
        ({"*": "b"}, "all = b"),
        ({"a": "b"}, "a = b, others unchanged"),
        ({"a": "b", "*": "c"}, "a = b, all others = c"),
    ],
)
def test_the_startup_message_lists_the_models(models, expected):
    assert f"  models:   {expected}" in format_lines(replace(OLLAMA, models=models))


def test_log_lines_are_printable_and_short():
    record = AccessRecord("POST", "/\x1b[2J\r\n" + "é" * 1000, 404, 7, ["a", "b"])
    line = record.format_line(1.4)
    assert line.startswith("POST /?[2J??é")
    assert len(line) == MAX_LINE
    assert AccessRecord("GET", "/", 200, 7, ["a", "b"]).format_line(1.4) == "GET / 200 1 ms 7 bytes  a; b"
