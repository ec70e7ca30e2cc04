"""Official SDKs, unmodified, talk to `conform proxy` in front of a real inference server."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from streamconform_dev.engine.engine import running
from streamconform_peers import environments

from ..proxy.program import started

ROOT = Path(__file__).resolve().parents[2]
FILE = re.compile(r"<!-- file: (?P<name>.+?) -->\n```[a-z]+\n(?P<text>.*?)```", re.DOTALL)
SCRIPTS = dict(FILE.findall((ROOT / "docs" / "translating-proxy.md").read_text("utf-8")))
TO_CHAT = ("--from", "anthropic-messages", "--to", "openai-chat")
SECONDS = 300
"""Generous, for a small model on a busy machine."""


@pytest.fixture(scope="module")
def engine():
    with running(Path(sys.executable), {}) as base_url:
        yield base_url


def environment(peer):
    return environments.read_environment(environments.get_environments_folder(), environments.find_peer(peer))


def python(folder):
    del folder
    return (environment("anthropic").python, "-I")


def node(folder):
    (folder / "node_modules").symlink_to(environment("node-anthropic").folder / "node_modules")
    return ("node",)


@pytest.mark.engine
@pytest.mark.peers
@pytest.mark.slow
@pytest.mark.parametrize(("name", "interpreter"), [("round_trip.py", python), ("round_trip.mjs", node)])
def test_an_official_sdk_completes_a_tool_round_trip_with_streaming(name, interpreter, engine, tmp_path):
    (tmp_path / name).write_text(SCRIPTS[name], "utf-8")

    async def test():
        async with started(engine, pair=TO_CHAT) as proxy:
            where = {"ANTHROPIC_BASE_URL": proxy.url, "ANTHROPIC_API_KEY": "none"}
            program = (*interpreter(tmp_path), tmp_path / name)
            client = await asyncio.create_subprocess_exec(
                *program, env={**os.environ, **where}, stdout=PIPE, stderr=PIPE
            )
            out, err = await asyncio.wait_for(client.communicate(), SECONDS)
            code, log = await proxy.wait_for_exit(signal.SIGTERM)
            return client.returncode, out.decode(), err.decode(), code, log

    returned, out, err, code, log = asyncio.run(test())
    assert (returned, err) == (0, ""), (out, err, log)
    called, answered, counted = out.splitlines()
    assert called == "get_weather(Paris)"
    assert "18 degrees" in answered
    assert re.fullmatch(r"end_turn, [1-9]\d* tokens in, [1-9]\d* out", counted)
    assert (code, log.count("POST /v1/messages 200 ")) == (0, 2), log
