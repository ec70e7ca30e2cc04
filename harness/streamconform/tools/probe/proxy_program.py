"""`--impl proxy:…`: the program that stands on both sides of a proxy.

It gets each trial as a client over HTTP does, by the address at which our server replays it. In front of the
proxy it asks what the trial's request asked for, in the words of the proxy's clients, reads the stream as
the reference does, and holds it to the api's grammar. Behind the proxy it is the upstream, and hands every
request on to the trial.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from streamconform_reference.apis import DECODERS
from streamconform_reference.apis.grammars import GRAMMARS
from streamconform_reference.grammars.grammar import Deviation

from streamconform.adapters import host
from streamconform.adapters.adapter_input import HttpInput
from streamconform.adapters.proxy_address import ProxyAddress, parse_address
from streamconform.tools.probe import proxy_client, proxy_rules
from streamconform.tools.probe.proxy_client import Answer, NotHttp, chunks, question
from streamconform.tools.probe.proxy_upstream import Relay, Upstream

Json = dict[str, Any]

CAPABILITIES: Final = (
    "tool_calls",
    "parallel_tool_calls",
    "thinking",
    "usage",
    "cache_usage",
    "events",
    "refusals",
)
"""What is asked of a proxy; the rest of what decoders have is the upstream's, or never goes through."""
SECONDS: Final = 3.0
"""To find out whether anybody listens."""


class UnreadableProxyError(Exception):
    """The proxy gave no HTTP answer."""


def adapter(address: ProxyAddress, relay: Relay) -> Callable[[HttpInput], Iterator[Json]]:
    """Return the adapter that judges the proxy at `address`, whose upstream `relay` is."""
    client = proxy_client.client()

    def proxied(run: HttpInput) -> Iterator[Json]:
        upstream = relay.upstream = Upstream(run.base_url)
        asking, answer, stream = question(address, run.request), Answer(), _Stream(address.from_api)
        try:
            for chunk in chunks(client, address, asking, answer):
                yield from stream.take(chunk, answer)
        except NotHttp as error:
            raise UnreadableProxyError(f"{address.url} gave no HTTP answer: {error}") from error
        finally:
            relay.upstream = None
        yield from stream.end(answer, asking.body)
        broken = [
            *proxy_rules.of_stream(stream.found),
            *proxy_rules.of_answer(address.from_api, answer),
            *proxy_rules.of_upstream(asking, upstream.asked),
        ]
        yield {"outcome": stream.outcome, "deviations": broken}

    vars(proxied).update(
        info={"name": f"{address.from_api} to {address.to_api} at {address.url}"},
        apis=[address.to_api],
        inputs=["http"],
        capabilities=list(CAPABILITIES),
        through={"api": address.from_api, "rules": proxy_rules.held(address.from_api)},
    )
    return proxied


class _Stream:
    """What the client makes of an answer, and what is wrong with it."""

    def __init__(self, api: str) -> None:
        self.found: list[Deviation] = []
        self.outcome: Json = {}
        self._api = api
        self._decoder = DECODERS[api]()
        self._parts: list[bytes] = []
        self._begun = False

    def take(self, chunk: bytes, answer: Answer) -> Iterator[Json]:
        """Yield the events that a chunk brings."""
        if not self._begun:
            self._begun = True
            self._decoder = DECODERS[self._api](status=answer.status, headers=answer.headers)
        if answer.status >= 400:
            answer.body += chunk
        self._parts.append(chunk)
        for event in self._decoder.receive_data(chunk):
            yield event.to_json()

    def end(self, answer: Answer, request: Mapping[str, Any]) -> Iterator[Json]:
        """Yield the last events; then `found` and `outcome` are whole."""
        if not self._begun:
            self._decoder = DECODERS[self._api](status=answer.status, headers=answer.headers)
        for event in self._decoder.receive_eof():
            yield event.to_json()
        self.outcome = self._decoder.outcome.to_json()
        if answer.status < 400:
            self.found = [*_deviations(self._api, self._parts, request, whole=answer.broken is None)]


def _deviations(
    api: str, parts: list[bytes], request: Mapping[str, Any], *, whole: bool
) -> Iterator[Deviation]:
    """Yield what is wrong with a body; of one that broke off, with the frames that came whole."""
    if whole:
        yield from GRAMMARS[api].of_body(parts, request)
        return
    grammar, framing = GRAMMARS[api](request), GRAMMARS[api].framing_factory()
    for chunk in parts:
        for frame in framing.receive(chunk):
            yield from grammar.receive(frame)


def main(given: str) -> None:
    """Serve the proxy at `given` until `stop`; exits with 3 where nobody listens, or the port is taken."""
    out = host.redirect_stdout()
    address = parse_address(given)
    where = urlsplit(address.url)
    port = where.port or (443 if where.scheme == "https" else 80)
    try:
        socket.create_connection((where.hostname or "", port), SECONDS).close()
    except OSError as error:
        words = f"{address.url}: {error.strerror or error}; start the proxy, its upstream"
        sys.stderr.write(f"no proxy at {words} http://127.0.0.1:{address.upstream}\n")
        sys.exit(host.UNUSABLE)
    try:
        relay = Relay(address.upstream)
    except OSError as error:
        words = f"{error.strerror or error}; end what listens there, an upstream of another kind"
        sys.stderr.write(f"port {address.upstream}, where the upstream is to be played: {words}\n")
        sys.exit(host.UNUSABLE)
    host.serve(adapter(address, relay), "proxy", out)


if __name__ == "__main__":
    main(sys.argv[1])
