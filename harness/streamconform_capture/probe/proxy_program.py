"""`--impl proxy:…`: the program that plays both the client and the upstream of a proxy.

Like every HTTP adapter, it gets the base URL at which the server replays a trial. As the client, it sends the
trial's prompt and tools in the API that the proxy offers, decodes the answer with the reference and checks it
against the grammar. As the upstream, it forwards the proxy's requests to the trial's base URL.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO, Final
from urllib.parse import urlsplit

from streamconform.adapters import host
from streamconform.adapters.adapter_input import HttpInput
from streamconform.adapters.proxy_address import HEADERS_VARIABLE, ProxyAddress, parse_address
from streamconform.secrets import scrub
from streamconform_capture.probe import proxy_client, proxy_rules
from streamconform_capture.probe.proxy_client import (
    NoHttpAnswerError,
    ProxyAnswer,
    build_request,
    send_request,
)
from streamconform_capture.probe.proxy_upstream import TrialUpstream, UpstreamRelay
from streamconform_reference.apis import DECODERS
from streamconform_reference.apis.grammars import GRAMMARS
from streamconform_reference.grammars.grammar import Deviation

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
"""The capabilities that a proxy is judged on; the others depend on its upstream or never pass through it."""
CONNECT_SECONDS: Final = 3.0
ORDINARY_WORD: Final = re.compile(rb"[a-z_]+")


class UnreadableProxyError(Exception):
    """The proxy sent no HTTP answer."""


def make_adapter(
    address: ProxyAddress, relay: UpstreamRelay, headers: Mapping[str, str]
) -> Callable[[HttpInput], Iterator[Json]]:
    """Return the adapter for the proxy at `address`, with `relay` as its upstream.

    The client sends `headers` in addition to the API's own.
    """
    client = proxy_client.make_client()

    def adapter(run: HttpInput) -> Iterator[Json]:
        upstream = relay.upstream = TrialUpstream(run.base_url)
        request, answer = build_request(address, run.request), ProxyAnswer()
        stream = _StreamReader(address.from_api)
        try:
            for chunk in send_request(client, address, request, answer, headers):
                yield from stream.receive(chunk, answer)
        except NoHttpAnswerError as error:
            raise UnreadableProxyError(f"{address.url} sent no HTTP answer: {error}") from error
        finally:
            relay.upstream = None
        yield from stream.finish(answer, request.body)
        broken_rules = [
            *proxy_rules.check_stream(stream.deviations),
            *proxy_rules.check_answer(address.from_api, answer),
            *proxy_rules.check_upstream_request(request, upstream.requests),
        ]
        yield {"outcome": stream.outcome, "deviations": broken_rules}

    vars(adapter).update(
        info={"name": f"{address.from_api} to {address.to_api} at {address.url}"},
        apis=[address.to_api],
        inputs=["http"],
        capabilities=list(CAPABILITIES),
        through={"api": address.from_api, "rules": proxy_rules.list_rules(address.from_api)},
    )
    return adapter


class _StreamReader:
    """Decodes an answer and collects its deviations from the grammar."""

    def __init__(self, api: str) -> None:
        self.deviations: list[Deviation] = []
        self.outcome: Json = {}
        self._api = api
        self._decoder = DECODERS[api]()
        self._chunks: list[bytes] = []
        self._started = False

    def receive(self, chunk: bytes, answer: ProxyAnswer) -> Iterator[Json]:
        """Yield the events of one chunk."""
        if not self._started:
            # Created at the first chunk, because the status and headers are not known earlier.
            self._started = True
            self._decoder = DECODERS[self._api](status=answer.status, headers=answer.headers)
        if answer.status >= 400:
            answer.body += chunk
        self._chunks.append(chunk)
        for event in self._decoder.receive_data(chunk):
            yield event.to_json()

    def finish(self, answer: ProxyAnswer, request: Mapping[str, Any]) -> Iterator[Json]:
        """Yield the last events, and set `deviations` and `outcome`."""
        if not self._started:
            self._decoder = DECODERS[self._api](status=answer.status, headers=answer.headers)
        for event in self._decoder.receive_eof():
            yield event.to_json()
        self.outcome = self._decoder.outcome.to_json()
        # An error is a document, not a stream; `proxy_rules.check_answer` checks it.
        if answer.status < 400:
            self.deviations = [
                *_find_deviations(self._api, self._chunks, request, complete=answer.incomplete is None)
            ]


def _find_deviations(
    api: str, chunks: list[bytes], request: Mapping[str, Any], *, complete: bool
) -> Iterator[Deviation]:
    """Yield a body's deviations from the grammar; for an incomplete body, only those in complete frames."""
    if complete:
        yield from GRAMMARS[api].of_body(chunks, request)
        return
    # `of_body` would also report the missing end, which the fault of the trial may have caused.
    grammar, framing = GRAMMARS[api](request), GRAMMARS[api].framing_factory()
    for chunk in chunks:
        for frame in framing.receive(chunk):
            yield from grammar.receive(frame)


class _BlankingWriter:
    """Writes lines in which secrets are blanked, because a proxy may repeat its client's headers."""

    def __init__(self, out: BinaryIO, secrets: tuple[bytes, ...]) -> None:
        self._out = out
        self._secrets = secrets

    def write(self, line: bytes) -> None:
        self._out.write(scrub.blank(line, self._secrets))

    def flush(self) -> None:
        self._out.flush()


def find_secrets(headers: Mapping[str, str]) -> tuple[bytes, ...]:
    """Return the values of `headers` that must not appear in results."""
    private = {name: value for name, value in headers.items() if name not in scrub.REQUEST_HEADERS}
    # An ordinary word is no secret, unless its header's name says so, and results consist of such words.
    words = (secret for secret in scrub.extract_secrets(private) if not ORDINARY_WORD.fullmatch(secret))
    return (*scrub.find_credentials(private), *words)


def main(text: str) -> None:
    """Run the adapter for the proxy at the address `text` until it receives `stop`.

    Exits with `host.UNUSABLE` if nothing listens at that address or the upstream's port is in use.
    """
    messages, out = host.take_streams()
    address = parse_address(text)
    headers: dict[str, str] = json.loads(os.environ.pop(HEADERS_VARIABLE, "{}"))
    url = urlsplit(address.url)
    port = url.port or (443 if url.scheme == "https" else 80)
    try:
        socket.create_connection((url.hostname or "", port), CONNECT_SECONDS).close()
    except OSError as error:
        sys.stderr.write(
            f"no proxy at {address.url}: {error.strerror or error}; "
            f"start the proxy with the upstream http://127.0.0.1:{address.upstream}\n"
        )
        sys.exit(host.UNUSABLE)
    try:
        relay = UpstreamRelay(address.upstream)
    except OSError as error:
        sys.stderr.write(
            f"cannot listen on port {address.upstream} as the proxy's upstream: "
            f"{error.strerror or error}; stop the program that uses the port\n"
        )
        sys.exit(host.UNUSABLE)
    blanking = _BlankingWriter(out, find_secrets(headers))
    host.serve(make_adapter(address, relay, headers), "proxy", messages, blanking)


if __name__ == "__main__":
    main(sys.argv[1])
