"""The environment of a judged program, and the program that `--impl` starts."""

from __future__ import annotations

import sys

import pytest

from streamconform.adapters.connect import connect, connect_command
from streamconform.adapters.environment import remove_secrets
from streamconform.errors import UsageError

SECRETS = """
ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN ANTHROPIC_BASE_URL OPENAI_API_KEY OPENAI_BASE_URL OPENAI_ORG_ID
AZURE_OPENAI_ENDPOINT GEMINI_API_KEY GOOGLE_API_KEY GOOGLE_APPLICATION_CREDENTIALS COHERE_URL CO_API_KEY
AWS_PROFILE AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN MISTRAL_API_KEY GROQ_API_KEY
GITHUB_TOKEN HF_TOKEN DB_PASSWORD MY_SECRET http_proxy HTTPS_PROXY all_proxy NO_PROXY npm_config_https_proxy
"""
HARMLESS = """
PATH HOME LANG TOKENIZERS_PARALLELISM PYTHONPATH VIRTUAL_ENV TERM XDG_RUNTIME_DIR KEYBOARD SECRETARY
"""


@pytest.mark.parametrize("name", SECRETS.split())
def test_keys_provider_settings_and_proxies_are_not_handed_on(name):
    assert remove_secrets({name: "x"}) == {}


@pytest.mark.parametrize("name", HARMLESS.split())
def test_the_rest_is_handed_on(name):
    assert remove_secrets({name: "x"}) == {name: "x"}


HOST = (sys.executable, "-m", "streamconform.adapters.host")
FORMS = [
    ("reference", (*HOST, "streamconform_reference:adapter")),
    ("mypkg", (*HOST, "mypkg")),
    ("python:mypkg.mod:name", (*HOST, "mypkg.mod:name")),
    ("cmd:./parser --flag 'a b'", ("./parser", "--flag", "a b")),
    ("mutant:usage-summed", (*HOST, "streamconform_mutants:usage-summed")),
]


@pytest.mark.parametrize(("impl", "argv"), FORMS, ids=[impl for impl, _ in FORMS])
def test_a_form_starts_a_program(impl, argv):
    assert connect(impl).impl == impl
    assert connect(impl).argv == argv


@pytest.mark.parametrize("impl", ["java:x", "cmd:", "cmd: ", "python:mod", "python::f", "python:m:", "cmd:'"])
def test_a_form_that_means_nothing_is_a_usage_error(impl):
    with pytest.raises(UsageError, match="`--impl "):
        connect(impl)


def test_arguments_after_two_dashes_are_the_program():
    assert connect_command(("./x", "a b")).argv == ("./x", "a b")
    assert connect_command(("./x", "a b")).impl == "cmd:./x 'a b'"
