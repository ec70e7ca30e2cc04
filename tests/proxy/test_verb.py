"""`conform proxy`, started and stopped like a user does."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys

import aiohttp
import pytest
from click.testing import CliRunner

from streamconform.errors import UsageError
from streamconform.install import format_install
from streamconform_proxy import THINKING_CAPABLE
from streamconform_proxy.cli import command

from ..cli.project import Project
from .program import FROM_TO, started
from .started import REQUEST, run
from .upstreams import playing, record, saying

UPSTREAM = ("--upstream", "http://127.0.0.1:9")


async def post(url):
    async with aiohttp.ClientSession() as client, client.post(f"{url}/v1/messages", json=REQUEST) as response:
        return await response.text()


def test_it_prints_its_settings_serves_and_exits_with_0():
    async def test():
        words = ("--port", "0", "--model", "qwen3:8b", "--key-env", "UPSTREAM_KEY")
        async with playing(saying("Hello")) as upstream, started(upstream.url, *words) as proxy:
            first, *rest = proxy.banner
            assert first == f"{proxy.url}  anthropic-messages -> ollama-chat at {upstream.url}"
            assert re.fullmatch(r"http://127\.0\.0\.1:[1-9][0-9]+", proxy.url)
            message = "\n".join(rest)
            assert f"ANTHROPIC_BASE_URL={proxy.url}" in message
            assert ", ".join(THINKING_CAPABLE) in message
            assert "all = qwen3:8b" in message
            assert "UPSTREAM_KEY" in message
            assert "Hello" in await post(proxy.url)
            code, log = await proxy.wait_for_exit(signal.SIGTERM)
            assert code == 0
            assert re.search(r"^POST /v1/messages 200 \d+ ms \d+ bytes$", log, re.MULTILINE)
            assert "key-of-the-upstream" not in log + message
            assert upstream.received[0].headers["authorization"] == "Bearer key-of-the-upstream"

    run(test())


@pytest.mark.parametrize(
    ("signals", "grace", "code"),
    [
        ((signal.SIGINT,), "0.2", 0),
        ((signal.SIGTERM,), "0.2", 0),
        ((signal.SIGINT, signal.SIGTERM), "60", 130),
    ],
)
def test_a_running_stream_ends_with_an_error_when_the_proxy_is_stopped(signals, grace, code):
    async def hanging(received, wire):
        del received
        await wire.head()
        await wire.send(record(content="Hello"))
        await wire.until_gone()

    async def test():
        async with (
            playing(hanging) as upstream,
            started(upstream.url, "--grace", grace) as proxy,
            aiohttp.ClientSession() as client,
            client.post(f"{proxy.url}/v1/messages", json=REQUEST) as response,
        ):
            while b"Hello" not in await response.content.readline():
                pass
            ended, log = await proxy.wait_for_exit(*signals)
            assert ended == code
            assert "stopping" in log
            assert "Traceback" not in log
            await upstream.closed()
            if code == 0:
                assert b"event: error" in await response.content.read()

    run(test())


def test_a_port_in_use_is_reported(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ran = Project(tmp_path).run("proxy", *FROM_TO, *UPSTREAM, "--port", port)
    assert (ran.code, ran.out) == (2, "")
    assert f"--port {port}`: " in ran.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--from", "openai-chat", "--to", "ollama-chat", *UPSTREAM), "cannot translate from openai-chat"),
        ((*FROM_TO, "--upstream", "localhost:11434"), "is not an http or https URL"),
        ((*FROM_TO, "--upstream", "http://me:secret@localhost"), "has a user"),
        ((*FROM_TO, *UPSTREAM, "--host", "192.0.2.1"), "add --expose"),
        ((*FROM_TO, *UPSTREAM, "--model", "=x"), "expected NAME or FROM=TO"),
        ((*FROM_TO, *UPSTREAM, "--model", "a=b", "--model", "a=c"), "is given twice"),
        ((*FROM_TO, *UPSTREAM, "--model", "a", "--model", "c"), "is given twice"),
        ((*FROM_TO, *UPSTREAM, "--key-env", "NO_SUCH_KEY"), "is missing or empty"),
        ((*FROM_TO, "--upstream", "http://10.0.0.1", "--key-env", "SOME_KEY"), "unencrypted"),
    ],
)
def test_a_usage_error_is_one_sentence(words, expected):
    ran = CliRunner().invoke(command, words, env={"SOME_KEY": "key-of-mine"})
    assert isinstance(ran.exception, UsageError)
    assert (ran.exception.exit_code, ran.output) == (2, "")
    assert expected in str(ran.exception)
    assert "key-of-mine" not in str(ran.exception)


def test_a_missing_aiohttp_is_reported_with_the_command_to_install_it():
    words = ["conform", "proxy", *FROM_TO, *UPSTREAM]
    program = (
        f"import sys; sys.modules['aiohttp'] = None; sys.argv = {words}; "
        "from streamconform.cli import main; main()"
    )
    ran = subprocess.run((sys.executable, "-c", program), capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert format_install("proxy") in ran.stderr


def test_neither_the_reference_nor_the_command_line_needs_aiohttp():
    program = (
        "import sys, streamconform_proxy, streamconform_proxy.cli; "
        "sys.exit(any(name.partition('.')[0] == 'aiohttp' for name in sys.modules))"
    )
    assert subprocess.run((sys.executable, "-c", program), check=False).returncode == 0


def test_no_key_is_sent_unencrypted_to_another_machine():
    async def test():
        async with started("http://192.0.2.1:11434") as proxy:
            assert "the upstream gets no key" in "\n".join(proxy.banner)
            assert (await proxy.wait_for_exit(signal.SIGINT))[0] == 0

    run(test())


def test_quiet_shows_no_requests():
    async def test():
        async with playing(saying("Hello")) as upstream, started(upstream.url, "-q") as proxy:
            assert "Hello" in await post(proxy.url)
            _, log = await proxy.wait_for_exit(signal.SIGINT)
            assert "POST" not in log

    run(test())
