"""Read the options for a live server: its URL, headers, and key."""

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


def parse_base_url(text: str, option: str) -> tuple[str, str]:
    """Return the base URL and its host; a final `/v1` is removed, because every path begins with it."""
    try:
        # No message quotes the URL, because it may hold a key.
        parts = urlsplit(text)
        host, private = parts.hostname or "", parts.username or parts.password or parts.query
    except ValueError:
        raise UsageError(f"{option} is not a URL; expected a URL such as http://127.0.0.1:8080") from None
    if private:
        raise UsageError(f"{option} has a user, a password or a query; put keys in environment variables")
    if parts.scheme not in {"http", "https"} or not host:
        raise UsageError(
            f"{option} is not an http or https URL; expected a URL such as http://127.0.0.1:8080"
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


def check_key_is_private(base_url: str, host: str, key: str | None) -> None:
    """Raise `UsageError` if a key would be sent unencrypted to another machine."""
    if key is not None and urlsplit(base_url).scheme == "http" and not LOOPBACK.fullmatch(host):
        raise UsageError("the key would be sent unencrypted (http) to another machine; use https")
