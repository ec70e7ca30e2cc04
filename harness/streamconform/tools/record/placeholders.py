"""Stands in for what names a person or an account: one map for request and response, length for length.

Replaced are e-mail addresses, ids of organisations, projects, workspaces and users, request ids (by which
the provider finds the account), names of home directories, the request's own fields about its user, and
what the caller names. Ids of messages and calls stay, and so does a system fingerprint: they name an answer
and a build, not a person.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

SHORTEST: Final = 4
"""Bytes below which a value names nobody, and replacing it everywhere would harm other text."""

PATTERNS: Final[Mapping[str, re.Pattern[bytes]]] = {
    "e-mail address": re.compile(rb"([A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,24})"),
    "account id": re.compile(
        rb"\b((?:org|proj|user|wrkspc|acct|team)[-_](?:[A-Za-z0-9]+-)?[A-Za-z0-9]{8,64})\b"
    ),
    "request id": re.compile(rb"\b(req_[A-Za-z0-9]{8,64})\b"),
    "home directory": re.compile(rb"(?:/(?:home|Users)/|[A-Za-z]:\\{1,2}Users\\{1,2})([^/\\\"'\s:]{4,64})"),
}
"""Kind to what is replaced wherever it stands: the first group."""

PLAIN: Final = re.compile(rb"@(?:[A-Za-z0-9-]+\.)*(?:example\.(?:com|org|net)|invalid|test)$")
"""Ends addresses that are reserved for examples."""

ID_HEADERS: Final = ("request-id", "x-request-id", "x-amzn-requestid")

USER_FIELDS: Final = (
    ("user",),
    ("safety_identifier",),
    ("prompt_cache_key",),
    ("metadata", "user_id"),
    ("metadata", "user"),
)
"""Fields of request bodies whose value names the user or the session."""


class Placeholders:
    """What is replaced by what; learns from every part of an exchange before it replaces in any."""

    def __init__(self, names: tuple[str, ...] = ()) -> None:
        """Begin with the `names` that the caller wants replaced."""
        self._map: dict[bytes, bytes] = {}
        self._kinds: Counter[str] = Counter()
        for name in names:
            self._learn("name given", name.encode())

    @property
    def counts(self) -> Mapping[str, int]:
        """Return how many distinct values of each kind have a placeholder."""
        return dict(self._kinds)

    def learn(self, data: bytes) -> None:
        """Find what is replaced wherever it stands."""
        for kind, pattern in PATTERNS.items():
            for match in pattern.finditer(data):
                if not PLAIN.search(match[1]):
                    self._learn(kind, match[1])

    def learn_request(self, body: Mapping[str, Any]) -> None:
        """Find the fields of a request that name its user."""
        for path in USER_FIELDS:
            for text in _texts(body, path):
                self._learn("user field", text.encode())

    def learn_headers(self, headers: Mapping[str, str]) -> None:
        """Find the ids in a response's headers."""
        for name in ID_HEADERS:
            if name in headers:
                self._learn("request id", headers[name].encode())

    def apply(self, data: bytes) -> bytes:
        """Return `data` with every known value replaced, each by as many bytes, all at once."""
        if not self._map:
            return data
        known = b"|".join(re.escape(value) for value in sorted(self._map, key=len, reverse=True))
        return re.sub(known, lambda match: self._map[match[0]], data)

    def apply_text(self, text: str) -> str:
        """Return `text` likewise."""
        return self.apply(text.encode()).decode()

    def _learn(self, kind: str, value: bytes) -> None:
        if len(value) < SHORTEST or value in self._map:
            return
        self._kinds[kind] += 1
        self._map[value] = _placeholder(value, len(self._map) + 1)


def _texts(value: Any, path: tuple[str, ...]) -> Iterator[str]:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, str):
        yield value


def _placeholder(value: bytes, number: int) -> bytes:
    """Return `x` for every letter and digit, the known prefix and the punctuation kept, numbered at the end.

    Bytes of longer characters become `x` too, so the number of bytes stays what it was.
    """
    prefix = re.match(rb"(?:org|proj|user|wrkspc|acct|team|req)[-_]", value)
    kept = prefix.end() if prefix else 0
    rest = bytearray(re.sub(rb"[^@._-]", b"x", value[kept:]))
    places = [at for at, byte in enumerate(rest) if byte == ord("x")]
    for at, digit in zip(reversed(places), reversed(str(number).encode()), strict=False):
        rest[at] = digit
    return value[:kept] + bytes(rest)
