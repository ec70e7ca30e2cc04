"""Name the server of a recording, for its provenance, if the user has not."""

from __future__ import annotations

import json
import re
import time
from functools import cache
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from streamconform.loopback import is_loopback
from streamconform.secrets.scan import scan
from streamconform_capture.record.providers import HOSTS

UNNAMED: Final = "unnamed server"
SECONDS: Final = 0.5
"""Time limit for the list of models."""
MAX_LIST: Final = 1024 * 1024
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9 ._+:/()-]{1,79}")
_FRAMEWORK: Final = re.compile(
    r"(?i:aiohttp|akamai|apache|awselb|basehttp|bun|caddy|cloudflare|cloudfront|cowboy|daphne|deno|envoy|esf"
    r"|express|fasthttp|google frontend|granian|gunicorn|gws|hypercorn|istio|jetty|kestrel|microsoft|nginx"
    r"|openresty|python|simplehttp|tomcat|tornado|traefik|uvicorn|waitress|werkzeug)(?![a-z]).*"
)
"""HTTP libraries and proxies, whose name does not say what made the answer."""
_ANYBODY: Final = frozenset(
    {"library", "me", "openai", "organization_owner", "organization-owner", "system", "user"}
)
"""Owners of models that do not name the server."""


def name_server(base_url: str, header: str) -> str:
    """Return a name for the server at `base_url`, whose answer has the `Server` header `header`.

    If the header names only an HTTP library and the server is on this machine, this requests its list of
    models. Other servers get no extra request; their host names are private, except those of providers.
    """
    host = urlsplit(base_url).hostname or ""
    if host in HOSTS:
        return host
    name = _check_name(header)
    if name and not _FRAMEWORK.fullmatch(name):
        return name
    return (_ask_for_models(base_url) if is_loopback(base_url) else "") or name or UNNAMED


@cache
def _ask_for_models(base_url: str) -> str:
    """Return who owns the first model that the server lists, or the model; empty if neither is known."""
    try:
        model = json.loads(_fetch(f"{base_url}/v1/models"))["data"][0]
        owner = _check_name(model.get("owned_by"))
        if owner and owner not in _ANYBODY:
            return owner
        # The id may be the path of a file.
        name = _check_name(re.split(r"[/\\]", str(model.get("id")))[-1])
    except (httpx.HTTPError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return ""
    return f"server of {name}" if name else ""


def _fetch(url: str) -> bytes:
    data = bytearray()
    deadline = time.monotonic() + SECONDS
    # Without the user's proxies, keys and certificates.
    client = httpx.Client(trust_env=False, verify=False, timeout=SECONDS)  # noqa: S501 - on this machine
    with client, client.stream("GET", url, headers={"accept-encoding": "identity"}) as answer:
        for part in answer.iter_raw():
            data += part
            if len(data) > MAX_LIST or time.monotonic() > deadline:
                return b""
    return bytes(data) if answer.is_success else b""


def _check_name(value: Any) -> str:
    """Return a name that can be written, or an empty text."""
    text = " ".join(value.split()) if isinstance(value, str) else ""
    return text if _NAME.fullmatch(text) and not scan({"": text.encode()}) else ""
