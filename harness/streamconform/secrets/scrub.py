"""Filter headers by allow-list, and blank secrets in bodies without changing their length."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import unquote, unquote_plus, urlsplit

from streamconform.secrets import key_forms

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
"""Response headers to keep: those that a client reads. Dates, cookies and host names are dropped."""

KEY_PARAMETERS: Final = frozenset({
    "access_token", "api-key", "api_key", "apikey", "auth", "authorization", "client_secret", "code",
    "id_token", "key", "password", "refresh_token", "secret", "session", "session_id", "sessionid", "sig",
    "signature", "subscription-key", "token", "x-amz-credential", "x-amz-security-token", "x-amz-signature",
    "x-goog-credential", "x-goog-signature",
})  # fmt: skip
"""Query parameters that contain keys, signatures or sessions, in lower case."""

CREDENTIAL_WORDS: Final = (
    "auth", "cookie", "credential", "key", "passw", "secret", "session", "signature", "token",
)  # fmt: skip
"""Words in a request header's name that mark its value as secret."""
PUBLIC_HEADERS: Final = frozenset({":authority", "authority", "x-amz-target"})
"""Headers whose values are public even though their names contain one of these words."""

STAND_INS: Final = frozenset({
    "a", "api", "auth", "bearer", "dummy", "example", "fake", "filtered", "foo", "hidden", "key", "mock",
    "my", "none", "not", "null", "placeholder", "real", "redacted", "removed", "sanitized", "scrubbed",
    "secret", "test", "testing", "the", "token", "undefined", "value", "x", "xxx", "your",
})  # fmt: skip
"""The words that tools write in place of a key."""

NOT_SECRET: Final = re.compile(r"\bAWS4-HMAC-SHA256\b|\bSignedHeaders=[^,\s]*")
"""The parts of an AWS signature that describe how it was made and are not secret."""

SHORTEST_SECRET = 8
"""The minimum length of a secret, in bytes. Shorter values are placeholders (`none`, `x`) or common words;
blanking them would damage the body.
"""


def filter_headers(headers: Mapping[str, str], names: frozenset[str]) -> dict[str, str]:
    """Return the headers whose lower-case name is in `names`, in their original order."""
    return {name.lower(): value for name, value in headers.items() if name.lower() in names}


def extract_secrets(headers: Mapping[str, str]) -> tuple[bytes, ...]:
    """Return the secrets in header values: every word of at least `SHORTEST_SECRET` bytes.

    Values are split into words, so that `Bearer`, which is too short, does not count as a secret. The user
    and password of Basic credentials are secrets too.
    """
    values = (NOT_SECRET.sub("", value) for value in headers.values())
    words = [word for value in values for word in re.split(r"[\s;,]+", value)]
    words += [word.partition("=")[2] for word in words]  # `token=…`
    words += [part for value in headers.values() for part in _decode_basic(value)]
    return _make_secrets(words)


def find_credentials(
    request_headers: Mapping[str, str], response_headers: Mapping[str, str] | None = None, url: str = ""
) -> tuple[bytes, ...]:
    """Return the secrets in an exchange recorded by others; its bodies may repeat them.

    Header names are lower-case. Secrets are the values of headers with secret names, cookies that were sent
    or set, the user and password, and secret query parameters. Stand-ins such as `REDACTED` are not secrets.
    """
    named = {
        name: value
        for name, value in request_headers.items()
        if name not in PUBLIC_HEADERS and any(word in name for word in CREDENTIAL_WORDS)
    }
    cookies = (response_headers or {}).get("set-cookie", "")
    parts = urlsplit(url) if _is_parsable(url) else urlsplit("")
    words = [
        *(value for pair in COOKIE.findall(cookies) for value in (pair, unquote(pair))),
        *(unquote(value) for value in (parts.username, parts.password) if value),
        *(form for value in _iter_key_values(parts.query) for form in (value, unquote_plus(value))),
    ]
    secrets = (*extract_secrets(named), *_make_secrets(words))
    return tuple(dict.fromkeys(secret for secret in secrets if not _is_stand_in(secret)))


def replace_key_parameters(target: str) -> str:
    """Return a request's path and query, with the values of `KEY_PARAMETERS` overwritten with `x`."""

    def replace(match: re.Match[str]) -> str:
        name, value = match[1], match[2]
        return match[0][: -len(value)] + "x" * len(value) if name.lower() in KEY_PARAMETERS else match[0]

    path, mark, query = target.partition("?")
    return path + mark + re.sub(r"(?:^|(?<=[&;]))([^=&;]+)=([^&;]+)", replace, query)


COOKIE: Final = re.compile(r"(?:^|,\s*)[^=;,\s]+=([^;,\s]+)")
"""Matches a cookie's value; the rest of `set-cookie` consists of attributes."""


def _iter_key_values(query: str) -> Iterator[str]:
    for pair in re.split("[&;]", query):
        name, _, value = pair.partition("=")
        if name.lower() in KEY_PARAMETERS:
            yield value


def _decode_basic(value: str) -> Iterator[str]:
    """Yield the user and password of Basic credentials, together and separately."""
    match = re.search(r"(?i:\bbasic\s+)([A-Za-z0-9+/_-]+={0,2})", value)
    if match is None:
        return
    try:
        # Python ignores excess padding, so this decodes a value with or without its own.
        text = base64.b64decode(match[1].rstrip("=") + "==", altchars=b"-_").decode()
    except (binascii.Error, UnicodeDecodeError):
        return
    yield text
    yield from text.split(":", 1)


def _make_secrets(words: Iterable[str]) -> tuple[bytes, ...]:
    return tuple({word.encode("utf-8", "replace"): None for word in words if len(word) >= SHORTEST_SECRET})


def _is_stand_in(secret: bytes) -> bool:
    """Return whether `secret` is a stand-in for a key that a tool removed."""
    words = re.findall(rb"[a-z]+", secret.lower())
    return not re.search(rb"[0-9]", secret) and all(word.decode() in STAND_INS for word in words)


def _is_parsable(url: str) -> bool:
    try:
        urlsplit(url)
    except ValueError:
        return False
    return True


def blank(data: bytes, secrets: Iterable[bytes]) -> bytes:
    """Return `data` with each secret, in any of its forms, replaced by `x` characters."""
    for secret in secrets:  # the length is kept, so that chunk offsets stay valid
        data = key_forms.compile_pattern(secret).sub(lambda match: b"x" * len(match[0]), data)
    return data
