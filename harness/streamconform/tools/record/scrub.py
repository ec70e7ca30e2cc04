"""What of an exchange is kept, and how secrets leave it: headers by allow-list, bytes by as many bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from streamconform.tools.record import key_forms

KEPT_OF_REQUEST = frozenset({"accept", "anthropic-beta", "anthropic-version", "content-type", "openai-beta"})
"""Request headers that are kept: those by which the answer may differ."""

KEPT_OF_RESPONSE = frozenset({
    "content-encoding",
    "content-type",
    "request-id",
    "retry-after",
    "x-amzn-errortype",
    "x-amzn-requestid",
    "x-request-id",
    "x-should-retry",
})  # fmt: skip
"""Response headers that are kept: those that a client reads. No date, cookie or host name."""

KEY_PARAMETERS = frozenset({"access_token", "api_key", "apikey", "key"})
"""Names of query parameters that carry keys."""

SHORTEST_SECRET = 8
"""Bytes below which a value is a placeholder (`none`, `x`), and blanking it would only harm the body."""


def kept(headers: Mapping[str, str], names: frozenset[str]) -> dict[str, str]:
    """Return the headers whose lower-case name is in `names`, in their order."""
    return {name.lower(): value for name, value in headers.items() if name.lower() in names}


def secrets_of(headers: Mapping[str, str]) -> tuple[bytes, ...]:
    """Return what is secret in header values: every word that is long enough, so that `Bearer` is not."""
    words = [word for value in headers.values() for word in re.split(r"[\s;,]+", value)]
    words += [word.partition("=")[2] for word in words]  # `token=…`
    return tuple({word.encode(): None for word in words if len(word) >= SHORTEST_SECRET})


def blank(data: bytes, secrets: Iterable[bytes]) -> bytes:
    """Return `data` with each secret, in whatever form, replaced by as many `x`: chunk marks stay true."""
    for secret in secrets:
        data = key_forms.pattern(secret).sub(lambda found: b"x" * len(found[0]), data)
    return data
