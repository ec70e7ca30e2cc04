"""The address of a proxy that is judged: `http://127.0.0.1:8082?from=API&to=API&upstream=PORT`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from streamconform.apis import APIS
from streamconform.errors import UsageError

FORM: Final = "proxy:http://127.0.0.1:8082?from=anthropic-messages&to=ollama-chat&upstream=11434"
MODEL: Final = "qwen3:8b"
"""The model that a proxy is asked for, unless told otherwise: one that thinks, by its name at Ollama."""
NEEDED: Final = ("from", "to", "upstream")
KNOWN: Final = frozenset({*NEEDED, "model"})


@dataclass(frozen=True, slots=True)
class ProxyAddress:
    """A proxy, and what it stands between."""

    url: str
    """Where its clients send their requests, without a slash at the end."""
    from_api: str
    """What its clients speak."""
    to_api: str
    """What it speaks to its upstream."""
    upstream: int
    """The port of this machine at which it looks for its upstream."""
    model: str = MODEL


def read(given: str) -> ProxyAddress:
    """Return what `given`, the part of `--impl` behind `proxy:`, means; raises `UsageError`."""
    try:
        parts = urlsplit(given)
        port = parts.port
    except ValueError as error:
        raise _wrong(given, str(error)) from error
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or parts.username is not None:
        raise _wrong(given, "it is no http or https address without user and password")
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    told = dict(pairs)
    if len(told) < len(pairs) or told.keys() - KNOWN or parts.fragment:
        known = ", ".join(f"`{each}`" for each in (*NEEDED, "model"))
        raise _wrong(given, f"behind the `?` may stand {known}, each once")
    for name in NEEDED:
        if not told.get(name):
            raise _wrong(given, f"`{name}` is missing; in a shell the address stands in quotes, for its `&`")
    for name in ("from", "to"):
        if told[name] not in APIS:
            raise _wrong(given, f"`{name}={told[name]}` is no api; known are {', '.join(APIS)}")
    if not (told["upstream"].isascii() and told["upstream"].isdigit() and 0 < int(told["upstream"]) < 65536):
        raise _wrong(given, f"`upstream={told['upstream']}` is no port: 1 to 65535 is expected")
    url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
    return ProxyAddress(url, told["from"], told["to"], int(told["upstream"]), told.get("model") or MODEL)


def _wrong(given: str, why: str) -> UsageError:
    return UsageError(f"`--impl proxy:{given}`: {why}; expected `{FORM}`")
