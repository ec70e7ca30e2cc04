"""What the proxy says of itself, and what its page says of that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from streamconform_proxy import ROUTES, Route
from streamconform_proxy.access_log import MAX_LINE, Account
from streamconform_proxy.bounds import Bounds
from streamconform_proxy.startup import banner

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "proxy.md").read_text("utf-8")
OLLAMA = Route(client="anthropic-messages", upstream="ollama-chat", models={"*": "qwen3:8b"})


def lines(route):
    own = "the upstream gets each client's own key"
    return list(
        banner("http://127.0.0.1:8089", route, "http://127.0.0.1:11434", keys=own, bounds=Bounds().words)
    )


def test_the_banner_on_the_page_is_the_one_that_is_printed():
    assert "\n".join(lines(OLLAMA)) in PAGE


@pytest.mark.parametrize(("client", "upstream"), ROUTES)
def test_every_pair_is_on_the_page_and_the_client_is_told_its_variable(client, upstream):
    assert f"| `{client}` | `{upstream}` |" in PAGE
    told = "\n".join(lines(Route(client=client, upstream=upstream)))
    variable = {"anthropic-messages": "ANTHROPIC_BASE_URL=", "openai-chat": "OPENAI_BASE_URL="}[client]
    assert variable in told
    assert ("thinking:" in told) == (upstream == "ollama-chat")
    assert told.endswith(Bounds().words)


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ({}, "by their own names"),
        ({"*": "b"}, "all = b"),
        ({"a": "b"}, "a = b, others by their own names"),
        ({"a": "b", "*": "c"}, "a = b, all others = c"),
    ],
)
def test_models_are_named(models, said):
    assert f"  models:   {said}" in lines(replace(OLLAMA, models=models))


def test_what_clients_write_into_the_log_does_nothing_to_a_terminal_and_is_short():
    account = Account("POST", "/\x1b[2J\r\n" + "é" * 1000, 404, 7, ["a", "b"])
    line = account.line(1.4)
    assert line.startswith("POST /?[2J??é")
    assert len(line) == MAX_LINE
    assert Account("GET", "/", 200, 7, ["a", "b"]).line(1.4) == "GET / 200 1 ms 7 bytes  a; b"
