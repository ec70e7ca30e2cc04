"""Filter headers by allow-list, and blank secrets in bodies without changing their length."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from streamconform.tools.record import key_forms

REQUEST_HEADERS = frozenset({"accept", "anthropic-beta", "anthropic-version", "content-type", "openai-beta"})
"""Request headers to keep: those that may change the response."""

RESPONSE_HEADERS = frozenset({
    "content-encoding",
    "content-type",
    "request-id",
    "retry-after",
    "x-amzn-errortype",
    "x-amzn-requestid",
    "x-request-id",
    "x-should-retry",
})  # fmt: skip
"""Response headers to keep: those that a client reads. No date, cookie or host name."""

KEY_PARAMETERS = frozenset({"access_token", "api_key", "apikey", "key"})
"""Query parameters that carry keys."""

SHORTEST_SECRET = 8
"""Minimum length in bytes of a secret. Shorter values are placeholders (`none`, `x`) or common words,
and blanking those would damage the body."""


def filter_headers(headers: Mapping[str, str], names: frozenset[str]) -> dict[str, str]:
    """Return the headers whose lower-case name is in `names`, in their original order."""
    return {name.lower(): value for name, value in headers.items() if name.lower() in names}


def extract_secrets(headers: Mapping[str, str]) -> tuple[bytes, ...]:
    """Return the secrets in header values: every word of at least `SHORTEST_SECRET` bytes.

    Words are split so that `Bearer`, which is shorter, is not a secret itself.
    """
    words = [word for value in headers.values() for word in re.split(r"[\s;,]+", value)]
    words += [word.partition("=")[2] for word in words]  # `token=…`
    return tuple({word.encode(): None for word in words if len(word) >= SHORTEST_SECRET})


def blank(data: bytes, secrets: Iterable[bytes]) -> bytes:
    """Return `data` with each secret, in any of its forms, replaced by `x` characters."""
    for secret in secrets:  # the length is kept, so that chunk offsets stay valid
        data = key_forms.compile_pattern(secret).sub(lambda match: b"x" * len(match[0]), data)
    return data
