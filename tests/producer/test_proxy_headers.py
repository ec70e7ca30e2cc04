"""`conform run -i proxy:…` with `--header` and `--key-env`: the proxy gets both, and nothing else does."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from streamconform.adapters.connect import connect
from streamconform.adapters.proxy_address import HEADERS_VARIABLE
from streamconform.cli.server import add_proxy_headers, hide_header_values
from streamconform.errors import UsageError
from streamconform.run.reading import read as read_results
from streamconform_capture.probe.proxy_program import find_secrets
from streamconform_dev.docs.command import Ran

from ..cli.project import Project
from .tiny_proxy import serve_proxy

TENANT, KEY = "tenant-0815-4711", "sk-local-0123456789abcdef"
REQUIRED = {"x-tenant": TENANT, "x-api-key": KEY}
CASE = "ollama-chat/text/plain-text@as-is"
HEADER, KEY_ENV = ("--header", f"X-Tenant: {TENANT}"), ("--key-env", "GATEWAY_KEY")


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Ran]]:
    """Return a function that runs a command against a proxy that requires the headers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with serve_proxy(port, required=REQUIRED) as url:
        impl = f"proxy:{url}?from=anthropic-messages&to=ollama-chat&upstream={port}"

        def run_command(verb: str, *words: str) -> Ran:
            return Project(tmp_path).run(verb, "-i", impl, *words, environment={"GATEWAY_KEY": KEY})

        yield run_command


def find_secret_files(folder: Path) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [
        str(path) for path in files if any(secret.encode() in path.read_bytes() for secret in (TENANT, KEY))
    ]


@pytest.mark.parametrize(
    ("words", "code"),
    [((), 1), (HEADER, 1), (KEY_ENV, 1), ((*HEADER, *KEY_ENV), 0)],
    ids=["neither", "header", "key", "both"],
)
def test_a_proxy_gets_the_headers_and_the_key_and_no_file_does(tmp_path, run, words, code):
    reports = [f"--report={kind}={tmp_path}/report.{kind}" for kind in ("json", "html", "junit", "markdown")]
    ran = run("run", "-k", CASE, *words, *reports)
    assert ran.code == code, ran.out + ran.err
    assert not any(secret in ran.out + ran.err for secret in (TENANT, KEY))
    assert find_secret_files(tmp_path) == []


def test_the_recorded_command_names_the_headers_and_the_variable(tmp_path, run):
    run("run", "-k", CASE, *HEADER, *KEY_ENV)
    command = read_results(Project(tmp_path).results).header.command or ""
    assert "--header 'X-Tenant: …' --key-env GATEWAY_KEY" in command


def test_explain_sends_them_too(run):
    ran = run("explain", CASE, *HEADER, *KEY_ENV)
    assert ran.code == 0, ran.err
    assert "401" not in ran.out


def test_a_secret_is_passed_by_the_environment_and_not_shown():
    address = "http://127.0.0.1:8082?from=openai-chat&to=ollama-chat&upstream=11434"
    (connection, other) = add_proxy_headers(
        (connect(f"proxy:{address}"), connect("reference")), (f"X-Tenant: {TENANT}",), None
    )
    assert json.loads(dict(connection.environment)[HEADERS_VARIABLE]) == {"x-tenant": TENANT}
    assert TENANT not in repr(connection) + " ".join(connection.argv)
    assert other.environment == ()


@dataclass(frozen=True)
class Misuse:
    id: str
    message: str
    headers: tuple[str, ...] = ()
    key_env: str | None = None
    impl: str = "proxy:http://127.0.0.1:8082?from=openai-chat&to=ollama-chat&upstream=11434"


REMOTE = "proxy:http://gateway.example?from=openai-chat&to=ollama-chat&upstream=11434"
MISUSES = [
    Misuse("header-without-proxy", "of the form `proxy:URL`; there is none", ("a: b",), impl="reference"),
    Misuse("key-without-proxy", "of the form `proxy:URL`; there is none", key_env="KEY", impl="reference"),
    Misuse("no-colon", "--header number 1: expected 'name: value'", ("secret-value",)),
    Misuse("key-header", "put the key in an environment variable", ("Authorization: Bearer secret-value",)),
    Misuse("line-break", "`x-a` is not printable ASCII on one line", ("x-a: secret-value\r\nx-b: c",)),
    Misuse("not-ascii", "`x-a` is not printable ASCII on one line", ("x-a: secret-value-ü",)),
    Misuse("connection", "header `content-length` describes the connection", ("Content-Length: 5",)),
    Misuse("missing-key", "the environment variable `NO_KEY` is missing or empty", key_env="NO_KEY"),
    Misuse("key-with-line-break", "`authorization` is not printable ASCII on one line", key_env="BROKEN"),
    Misuse("key-to-other-machine", "sent unencrypted (http) to another machine", key_env="KEY", impl=REMOTE),
]


@pytest.mark.parametrize("misuse", MISUSES, ids=[misuse.id for misuse in MISUSES])
def test_a_misuse_is_a_usage_error_without_the_value(monkeypatch, misuse):
    monkeypatch.setenv("KEY", "secret-value")
    monkeypatch.setenv("BROKEN", "secret-value\nx-b: c")
    with pytest.raises(UsageError) as caught:
        add_proxy_headers((connect(misuse.impl),), misuse.headers, misuse.key_env)
    assert misuse.message in str(caught.value)
    assert "secret-value" not in str(caught.value)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["run", "--header", "X-A: b", "-x"], ["run", "--header", "X-A: …", "-x"]),
        (["run", "--header=X-A:b"], ["run", "--header=X-A: …"]),
        (["--header", "--header", "a: b"], ["--header", "--header: …", "a: b"]),
        (["--", "./prog", "--header", "a: b"], ["--", "./prog", "--header", "a: b"]),
    ],
)
def test_values_of_headers_are_hidden_in_a_command_line(words, expected):
    assert list(hide_header_values(words)) == expected


def test_only_values_that_may_be_private_are_blanked():
    headers = {
        "accept": "application/json",
        "x-mode": "complete",
        "x-team": "team-4711",
        "x-key": "swordfish",
    }
    assert set(find_secrets(headers)) == {b"team-4711", b"swordfish"}


def test_a_proxy_that_is_not_configured_is_noticed_after_fifty_answers(run):
    ran = run("run", "-k", "ollama-chat/**", *HEADER)
    assert ran.code == 3
    assert "\n      error: 401 " in ran.out
    assert ": the proxy answers every request with the same error (401 " in ran.last
    assert ran.last.endswith("); is it configured?")
