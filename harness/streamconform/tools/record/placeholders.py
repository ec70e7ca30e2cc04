"""Replace values that identify a person or an account, consistently in request and response.

Replaced are e-mail addresses, ids of organisations, projects, workspaces and users, request ids (which let
the provider find the account), names of home directories, the request's fields about its user, and the
names that the caller passes. Message ids, call ids and system fingerprints are kept: they identify a
response and a build, not a person. Placeholders have the length of the value, so chunk offsets stay valid.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

SHORTEST: Final = 4
"""Minimum length in bytes of a replaced value. Shorter ones identify nobody, and also occur in other text."""

PATTERNS: Final[Mapping[str, re.Pattern[bytes]]] = {
    "e-mail address": re.compile(rb"([A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,24})"),
    "account id": re.compile(
        rb"\b((?:org|proj|user|wrkspc|acct|team)[-_](?:[A-Za-z0-9]+-)?[A-Za-z0-9]{8,64})\b"
    ),
    "request id": re.compile(rb"\b(req_[A-Za-z0-9]{8,64})\b"),
    "home directory": re.compile(rb"(?:/(?:home|Users)/|[A-Za-z]:\\{1,2}Users\\{1,2})([^/\\\"'\s:]{4,64})"),
}
"""Kind to pattern; the first group is replaced everywhere."""

PLAIN: Final = re.compile(rb"@(?:[A-Za-z0-9-]+\.)*(?:example\.(?:com|org|net)|invalid|test)$")
"""Matches the end of addresses in domains reserved for examples."""

ID_HEADERS: Final = ("request-id", "x-request-id", "x-amzn-requestid")

USER_FIELDS: Final = (
    ("user",),
    ("safety_identifier",),
    ("prompt_cache_key",),
    ("metadata", "user_id"),
    ("metadata", "user"),
)
"""Fields of request bodies whose value identifies the user or the session."""


class Placeholders:
    """A map from values to placeholders; call the `learn` methods for every part before `apply`."""

    def __init__(self, names: tuple[str, ...] = ()) -> None:
        """Start with the `names` that the caller wants replaced."""
        self._map: dict[bytes, bytes] = {}
        self._kinds: Counter[str] = Counter()
        for name in names:
            self._learn("name given", name.encode())

    @property
    def counts(self) -> Mapping[str, int]:
        """Return how many distinct values of each kind have a placeholder."""
        return dict(self._kinds)

    def learn(self, data: bytes) -> None:
        """Add every match of `PATTERNS` in `data`."""
        for kind, pattern in PATTERNS.items():
            for match in pattern.finditer(data):
                if not PLAIN.search(match[1]):
                    self._learn(kind, match[1])

    def learn_request(self, body: Mapping[str, Any]) -> None:
        """Add the values of `USER_FIELDS` in a request body."""
        for path in USER_FIELDS:
            for text in _iter_texts(body, path):
                self._learn("user field", text.encode())

    def learn_headers(self, headers: Mapping[str, str]) -> None:
        """Add the request ids in a response's headers."""
        for name in ID_HEADERS:
            if name in headers:
                self._learn("request id", headers[name].encode())

    def apply(self, data: bytes) -> bytes:
        """Return `data` with every known value replaced by a placeholder of the same length."""
        if not self._map:
            return data
        # One pass with the longest value first: a value may contain another one, or a placeholder match one.
        known = b"|".join(re.escape(value) for value in sorted(self._map, key=len, reverse=True))
        return re.sub(known, lambda match: self._map[match[0]], data)

    def apply_text(self, text: str) -> str:
        """Return `text` with every known value replaced."""
        return self.apply(text.encode()).decode()

    def _learn(self, kind: str, value: bytes) -> None:
        if len(value) < SHORTEST or value in self._map:
            return
        self._kinds[kind] += 1
        self._map[value] = _make_placeholder(value, len(self._map) + 1)


def _iter_texts(value: Any, path: tuple[str, ...]) -> Iterator[str]:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, str):
        yield value


def _make_placeholder(value: bytes, number: int) -> bytes:
    """Return `value` with letters and digits replaced by `x`, and `number` in the last of them.

    A known prefix and punctuation are kept. Each byte of a multi-byte character becomes one `x`, so the
    length in bytes does not change.
    """
    prefix = re.match(rb"(?:org|proj|user|wrkspc|acct|team|req)[-_]", value)
    start = prefix.end() if prefix else 0
    rest = bytearray(re.sub(rb"[^@._-]", b"x", value[start:]))
    positions = [position for position, byte in enumerate(rest) if byte == ord("x")]
    for position, digit in zip(reversed(positions), reversed(str(number).encode()), strict=False):
        rest[position] = digit
    return value[:start] + bytes(rest)
