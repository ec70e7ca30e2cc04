"""The proxy's streams are checked against the grammar of the client's API, by `conform probe`."""

from __future__ import annotations

import asyncio
import json

import pytest

from ..cli.project import Project
from ..producer.servers import MODEL, ServerMistake, make_answerer
from .program import started
from .started import run
from .upstreams import playing


def serve_validly(api):
    """Return the play of a correct server of this API."""
    answer = make_answerer(api, ServerMistake())

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
def test_the_proxy_sends_valid_streams_for_valid_streams(client, upstream, tmp_path):
    async def test():
        async with (
            playing(serve_validly(upstream)) as server,
            started(server.url, pair=("--from", client, "--to", upstream)) as proxy,
        ):
            arguments = ("probe", proxy.url, "--api", client, "--model", MODEL)
            return await asyncio.to_thread(Project(tmp_path).run, *arguments)

    ran = run(test())
    assert ran.code == 0, ran.out + ran.err
