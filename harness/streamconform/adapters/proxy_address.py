"""The address of a proxy under test: `http://127.0.0.1:8082?from=API&to=API&upstream=PORT`."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct

from streamconform.apis import APIS
from streamconform.errors import UsageError

FORM: Final = "proxy:http://127.0.0.1:8082?from=anthropic-messages&to=ollama-chat&upstream=11434"
MODEL: Final = "qwen3:8b"
"""The default model in requests to a proxy: the Ollama name of a model that supports thinking."""
REQUIRED: Final = ("from", "to", "upstream")
PARAMETERS: Final = (*REQUIRED, "model")


HEADERS_VARIABLE: Final = "CONFORM_PROXY_HEADERS"
"""The environment variable that passes the headers for the proxy to its client, as a JSON object."""


class ProxyAddress(Struct, frozen=True):
    """A proxy, and the APIs between which it translates."""

    url: str
    """The base URL for its clients, without a trailing slash."""
    from_api: str
    """The API that its clients use."""
    to_api: str
    """The API that it uses upstream."""
    upstream: int
    """The local port on which it expects its upstream."""
    model: str = MODEL


def parse_address(text: str) -> ProxyAddress:
    """Parse `text`, the part of `--impl` after `proxy:`. Raises `UsageError`."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise _usage_error(text, str(error)) from error
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or parts.username is not None:
        raise _usage_error(text, "the proxy must be an http or https URL without a user name or password")
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    options = dict(pairs)
    if len(options) < len(pairs) or options.keys() - set(PARAMETERS) or parts.fragment:
        names = ", ".join(f"`{name}`" for name in PARAMETERS)
        raise _usage_error(text, f"only {names} are allowed after the `?`, each at most once")
    for name in REQUIRED:
        if not options.get(name):
            raise _usage_error(
                text, f"`{name}` is missing (in a shell, quote the address because of its `&`)"
            )
    for name in ("from", "to"):
        if options[name] not in APIS:
            raise _usage_error(text, f"`{name}={options[name]}` is not an API; expected {', '.join(APIS)}")
    upstream = options["upstream"]
    if not (upstream.isascii() and upstream.isdigit() and 0 < int(upstream) < 65536):
        raise _usage_error(text, f"`upstream={upstream}` is not a port from 1 to 65535")
    url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
    return ProxyAddress(url, options["from"], options["to"], int(upstream), options.get("model") or MODEL)


def _usage_error(text: str, why: str) -> UsageError:
    return UsageError(f"`--impl proxy:{text}`: {why}; expected `{FORM}`")
