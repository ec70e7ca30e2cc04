"""What the command line says of a live server: its address, headers, and where the key is."""

from __future__ import annotations

import os
import re
from typing import Final
from urllib.parse import urlsplit

import click

from streamconform.errors import UsageError
from streamconform.tools.record import scrub
from streamconform.tools.record.providers import CREDENTIALS

LOOPBACK: Final = re.compile(r"localhost|127(\.[0-9]+){3}|::1")


def base_url_of(text: str, option: str) -> tuple[str, str]:
    """Return the base URL without the `/v1` that every path begins with, and its host."""
    try:
        parts = urlsplit(text)
        host, secret = parts.hostname or "", parts.username or parts.password or parts.query
    except ValueError:
        raise UsageError(f"{option} is no URL; expected such as http://127.0.0.1:8080") from None
    if secret:
        raise UsageError(f"{option} holds a user, a password or a query; keys come from the environment")
    if parts.scheme not in {"http", "https"} or not host:
        raise UsageError(f"{option} is no http or https address; expected such as http://127.0.0.1:8080")
    return text.rstrip("/").removesuffix("/v1"), host


def headers_of(given: tuple[str, ...]) -> dict[str, str]:
    """Return the headers; an error names them and never repeats their values."""
    headers: dict[str, str] = {}
    for number, text in enumerate(given, start=1):
        name, colon, value = text.partition(":")
        name = name.strip().lower()
        if not colon or not re.fullmatch(r"[a-z0-9-]+", name):
            raise UsageError(f"--header number {number} is not of the form 'name: value'")
        if name in CREDENTIALS:
            raise UsageError(
                f"header `{name}` carries a key, and the command line is no place for keys: put it into an "
                "environment variable and name that with --key-env VAR"
            )
        headers[name] = value.strip()
    return headers


def key_of(named: str | None, usual: str) -> str | None:
    """Return the key, or None where no variable was named and the usual one is empty."""
    key = os.environ.get(named or usual, "").strip()
    if named and not key:
        raise UsageError(
            f"--key-env names `{named}`, and the environment has no such variable, or an empty one"
        )
    if key and len(key) < scrub.SHORTEST_SECRET and named:
        click.echo(
            f"note: `{named}` is too short to be found again in an answer; it is taken as no secret", err=True
        )
    return key or None


def must_be_private(base_url: str, host: str, key: str | None) -> None:
    """Raise `UsageError` where a key would go in the clear to another machine."""
    if key is not None and urlsplit(base_url).scheme == "http" and not LOOPBACK.fullmatch(host):
        raise UsageError("the key would go over http, in the clear, to another machine; use https")
