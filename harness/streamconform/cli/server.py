"""Read the options for a live server: its URL, headers, and key."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

import click

from streamconform.adapters.connect import Connection, get_proxy_address
from streamconform.adapters.proxy_address import HEADERS_VARIABLE
from streamconform.apis import APIS
from streamconform.errors import UsageError
from streamconform.loopback import LOOPBACK
from streamconform.secrets import scrub
from streamconform.secrets.credentials import CREDENTIALS

CONNECTION_HEADERS: Final = frozenset(
    {"accept-encoding", "connection", "content-length", "transfer-encoding"}
)
OVER_HTTP: Final = ("http", "https")
SCHEMES: Final = (*OVER_HTTP, "ws", "wss")


def parse_base_url(text: str, option: str, schemes: Sequence[str] = OVER_HTTP) -> tuple[str, str]:
    """Return the base URL and its host; a final `/v1` is removed, because every path begins with it."""
    try:
        # No message quotes the URL, because it may hold a key.
        parts = urlsplit(text)
        host, private = parts.hostname or "", parts.username or parts.password or parts.query
    except ValueError:
        raise UsageError(f"{option} is not a URL; expected a URL such as http://127.0.0.1:8080") from None
    if private:
        raise UsageError(f"{option} has a user, a password or a query; put keys in environment variables")
    if parts.scheme not in schemes or not host:
        *others, last = schemes
        raise UsageError(
            f"{option} is not an {', '.join(others)} or {last} URL; expected a URL such as http://127.0.0.1:8080"
        )
    return text.rstrip("/").removesuffix("/v1"), host


def parse_headers(texts: tuple[str, ...]) -> dict[str, str]:
    """Return the headers by lowercase name; error messages never repeat the values, which may be secret."""
    headers: dict[str, str] = {}
    for number, text in enumerate(texts, start=1):
        name, colon, value = text.partition(":")
        name = name.strip().lower()
        if not colon or not re.fullmatch(r"[a-z0-9-]+", name):
            raise UsageError(f"--header number {number}: expected 'name: value'")
        if name in CREDENTIALS:
            raise UsageError(
                f"header `{name}` carries a key, and other users can see the command line; put the key in "
                "an environment variable, and pass the variable's name with --key-env VAR"
            )
        headers[name] = value.strip()
    return headers


def read_key(variable: str | None, default_variable: str) -> str | None:
    """Return the key from `variable`, if given, else from `default_variable`; None if that one is empty."""
    key = os.environ.get(variable or default_variable, "").strip()
    if variable and not key:
        raise UsageError(f"--key-env: the environment variable `{variable}` is missing or empty")
    if key and len(key) < scrub.SHORTEST_SECRET and variable:
        click.echo(
            f"note: the key in `{variable}` is too short to recognize in an answer, so it is not scrubbed",
            err=True,
        )
    return key or None


def add_proxy_headers(
    connections: Sequence[Connection], texts: tuple[str, ...], variable: str | None
) -> tuple[Connection, ...]:
    """Return `connections`, in which those to proxies send the headers `texts` and the key in `variable`.

    Raises `UsageError` if a header is invalid, or if there are any but no proxy.
    """
    if not texts and variable is None:
        return tuple(connections)
    if not any(get_proxy_address(connection) for connection in connections):
        raise UsageError(
            "`--header` and `--key-env` are sent to implementations of the form `proxy:URL`; there is none"
        )
    headers = parse_headers(texts)
    for name in CONNECTION_HEADERS & headers.keys():
        raise UsageError(f"header `{name}` describes the connection, so it cannot be replaced")
    key = read_key(variable, "") if variable else None
    return tuple(_add_headers(connection, headers, key) for connection in connections)


def _add_headers(connection: Connection, headers: Mapping[str, str], key: str | None) -> Connection:
    address = get_proxy_address(connection)
    if address is None:
        return connection
    check_key_is_private(address.url, urlsplit(address.url).hostname or "", key)
    if key is not None:
        headers = {**headers, **APIS[address.from_api].key.headers(key)}
    for name, value in headers.items():
        # An HTTP library would quote the value in its own error.
        if not (value.isascii() and value.isprintable()):
            raise UsageError(f"the value of header `{name}` is not printable ASCII on one line")
    return replace(connection, environment=((HEADERS_VARIABLE, json.dumps(headers)),))


def hide_header_values(words: Iterable[str]) -> Iterator[str]:
    """Yield the words of a command line without the values of headers, which may be private."""
    is_header, is_program = False, False
    for word in words:
        is_program = is_program or (word == "--" and not is_header)
        if is_program:
            yield word
        elif is_header:
            yield _hide_value(word)
        elif word.startswith("--header="):
            yield f"--header={_hide_value(word.removeprefix('--header='))}"
        else:
            yield word
        is_header = word == "--header" and not is_header


def _hide_value(header: str) -> str:
    return f"{header.partition(':')[0].strip()}: …"


def check_key_is_private(base_url: str, host: str, key: str | None) -> None:
    """Raise `UsageError` if a key would be sent unencrypted to another machine."""
    scheme = urlsplit(base_url).scheme
    if key is not None and scheme in ("http", "ws") and not LOOPBACK.fullmatch(host):
        raise UsageError(f"the key would be sent unencrypted ({scheme}) to another machine; use {scheme}s")
