"""The proxy's streams are checked against the grammar of the client's API, by `conform probe`."""

from __future__ import annotations

import asyncio
import json

import pytest

from ..cli.project import Project
from ..producer.servers import MODEL, Broken, _answerer
from .program import started
from .started import run
from .upstreams import playing


def legal(api):
    """Return the play of a correct server of this API."""
    answer = _answerer(api, Broken())

    async def play(received, wire):
        head = f"POST {received.path} HTTP/1.1\r\n\r\n"
        for step in answer(head.encode() + json.dumps(received.body).encode()):
            wire.writer.write(step)
            await wire.writer.drain()

    return play


@pytest.mark.slow
@pytest.mark.parametrize(
    ("client", "upstream"), [("anthropic-messages", "openai-chat"), ("openai-chat", "anthropic-messages")]
)
def test_the_proxys_streams_are_legal_if_the_upstreams_are(client, upstream, tmp_path):
    async def test():
        async with (
            playing(legal(upstream)) as server,
            started(server.url, pair=("--from", client, "--to", upstream)) as proxy,
        ):
            words = ("probe", proxy.url, "--api", client, "--model", MODEL)
            return await asyncio.to_thread(Project(tmp_path).run, *words)

    ran = run(test())
    assert ran.code == 0, ran.out + ran.err
