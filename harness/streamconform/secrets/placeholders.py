"""Replace values that identify a person or an account, consistently across request and response.

These values are replaced:

* e-mail addresses, phone numbers and card numbers
* ids of organisations, projects, workspaces, users, sessions, AWS accounts and Azure subscriptions
* names of Vertex projects, Azure resources and deployments
* keys and signatures in URLs
* request ids, which let the provider find the account
* names of home directories
* request fields that describe the user
* the names that the caller passes

Message ids, call ids and system fingerprints are kept: they identify a response and a build, not a person.
A placeholder is as long as the value that it replaces, so chunk offsets stay valid.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from streamconform.secrets.personal_numbers import CARD, NAMED_PHONE, PHONE, is_card, is_phone
from streamconform.secrets.scrub import KEY_PARAMETERS

SHORTEST: Final = 4
"""The minimum length of a replaced value, in bytes.

Shorter values do not identify anyone, and also occur in other text.
"""

COLON: Final = rb"(?::|%3[Aa])"
SLASH: Final = rb"(?:/|%2[Ff]|\\/)"
NOT_IN_ESCAPE: Final = rb"(?<!\\)" + b"".join(rb"(?<!\\u[0-9A-Fa-f]{%d})" % count for count in range(4))
"""In `\\nada@…`, the address begins after the `n`."""
WORD_START: Final = rb"(?:\b|(?<=\\[nrt])|(?<=\\u[0-9A-Fa-f]{4}))"

PATTERNS: Final[Mapping[str, re.Pattern[bytes]]] = {
    "e-mail address": re.compile(
        NOT_IN_ESCAPE + rb"([A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,24})"
    ),
    "account id": re.compile(
        WORD_START + rb"((?:org|proj|user|wrkspc|acct|team)[-_](?:[A-Za-z0-9]+-)?[A-Za-z0-9]{8,64})\b"
    ),
    "request id": re.compile(WORD_START + rb"(req_[A-Za-z0-9]{8,64})\b"),
    "session id": re.compile(
        rb"(?i:session[_-]?id)\\{0,3}[\"']\s*:\s*\\{0,3}[\"']([A-Za-z0-9._:+/=-]{8,256})(?=\\{0,3}[\"'])"
    ),
    "AWS account": re.compile(
        rb"\barn"
        + COLON
        + rb"aws[a-z-]*"
        + (COLON + rb"[a-z0-9-]*") * 2
        + COLON
        + rb"([0-9]{12})(?="
        + COLON
        + rb")"
    ),
    "Azure subscription": re.compile(rb"(?i:subscriptions)" + SLASH + rb"([0-9A-Fa-f]{8}-[0-9A-Fa-f-]{27})"),
    "home directory": re.compile(rb"(?:/(?:home|Users)/|[A-Za-z]:\\{1,2}Users\\{1,2})([^/\\\"'\s:]{4,64})"),
}
"""Maps a kind to its pattern. The value of the pattern's first group is replaced everywhere."""

IN_PLACE: Final[tuple[tuple[str, re.Pattern[bytes]], ...]] = (
    ("card number", CARD),
    ("phone number", PHONE),
    ("phone number", NAMED_PHONE),
    (
        "Vertex project",
        re.compile(rb"\bprojects" + SLASH + rb"([a-z0-9][a-z0-9.:-]{3,62})(?=" + SLASH + rb"locations\b)"),
    ),
    (
        "Azure resource",
        re.compile(
            rb"\b([A-Za-z0-9][A-Za-z0-9-]{1,62})(?=\.(?:openai|services\.ai|cognitiveservices|inference\.ml)"
            rb"\.azure\.(?:com|us|cn)\b)"
        ),
    ),
    ("Azure resource group", re.compile(rb"(?i:resourcegroups)" + SLASH + rb"([A-Za-z0-9._()-]{1,90})")),
    (
        "Azure deployment",
        re.compile(rb"\bopenai" + SLASH + rb"deployments" + SLASH + rb"([A-Za-z0-9][A-Za-z0-9._-]{0,63})"),
    ),
    (
        "key in a URL",
        re.compile(
            rb"(?:[?&]|\\u0026|&amp;|%(?:26|3[Ff]))(?i:"
            + b"|".join(re.escape(name.encode()) for name in sorted(KEY_PARAMETERS, key=len, reverse=True))
            + rb")(?:=|%3[Dd]|\\u003[dD])((?:[A-Za-z0-9._~+/=-]|%(?!26|23)[0-9A-Fa-f]{2}){8,})"
        ),
    ),
)
"""Kinds and their patterns. The pattern's first group is replaced where it matches; other occurrences of its
value are replaced only if that value is unlikely to be part of other text.

A deployment often has the same name as its model, the name of a resource or project may be an ordinary word,
and the digits of a number may be part of another one.
"""

CHECKS: Final[Mapping[str, Callable[[bytes], object]]] = {
    "card number": is_card,
    "phone number": is_phone,
    # A key has digits or capitals; `?key=your-api-key` is ordinary text.
    "key in a URL": re.compile(rb"[0-9A-Z]").search,
}
"""Whether a match of a kind counts; the others always do."""

EXAMPLES: Final = frozenset(
    {b"123456789012", b"111122223333", b"444455556666", b"999999999999", b"my-project"}
)
"""Names and numbers that documentation uses, which do not identify anyone."""

NOT_REPLACED: Final = "names and postal addresses"
"""What identifies a person and is not found, for messages."""

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
"""Request body fields whose value identifies the user or the session."""


class Placeholders:
    """Maps values to placeholders; call the `learn` methods for every part before `apply`."""

    def __init__(self, names: tuple[str, ...] = ()) -> None:
        """Start with the `names` that the caller wants replaced."""
        self._map: dict[bytes, bytes] = {}
        self._in_place: dict[bytes, bytes] = {}
        self._kinds: Counter[str] = Counter()
        for name in names:
            self._learn("name given", name.encode())

    @property
    def counts(self) -> Mapping[str, int]:
        """Return how many distinct values of each kind have a placeholder."""
        return dict(self._kinds)

    def learn(self, data: bytes) -> None:
        """Add every match of `PATTERNS` and `IN_PLACE` in `data`."""
        for kind, pattern in PATTERNS.items():
            for match in pattern.finditer(data):
                if not PLAIN.search(match[1]):
                    self._learn(kind, match[1])
        for kind, pattern in IN_PLACE:
            for match in pattern.finditer(data):
                value = match[1]
                if value in EXAMPLES or value in self._in_place or not CHECKS.get(kind, bool)(value):
                    continue
                if kind != "Azure deployment" and _is_distinctive(value):
                    self._learn(kind, value)
                elif value not in self._map:
                    self._kinds[kind] += 1
                    number = len(self._map) + len(self._in_place) + 1
                    self._in_place[value] = _make_placeholder(value, number)

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
        # First, because replacing other values could change the text that these patterns match.
        if self._in_place:
            for _, pattern in IN_PLACE:
                data = pattern.sub(self._replace_group, data)
        if not self._map:
            return data
        # One pass with the longest value first: a value may contain another one, or a placeholder match one.
        known = b"|".join(re.escape(value) for value in sorted(self._map, key=len, reverse=True))
        return re.sub(known, lambda match: self._map[match[0]], data)

    def apply_text(self, text: str) -> str:
        """Return `text` with every known value replaced."""
        return self.apply(text.encode()).decode()

    def _replace_group(self, match: re.Match[bytes]) -> bytes:
        start, end = match.start(1) - match.start(), match.end(1) - match.start()
        return match[0][:start] + self._in_place.get(match[1], match[1]) + match[0][end:]

    def _learn(self, kind: str, value: bytes) -> None:
        if len(value) < SHORTEST or value in self._map or value in EXAMPLES:
            return
        self._kinds[kind] += 1
        self._map[value] = _make_placeholder(value, len(self._map) + 1)


def _iter_texts(value: Any, path: tuple[str, ...]) -> Iterator[str]:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, str):
        yield value


def _is_distinctive(value: bytes) -> bool:
    """Return whether `value` is unlikely to be part of other text: long, and more than one word."""
    if value.isdigit():
        return len(value) >= 9
    return len(value) >= 6 and re.search(rb"[0-9-]", value) is not None


def _make_placeholder(value: bytes, number: int) -> bytes:
    """Return `value` with letters and digits replaced by `x`, except the last ones, which become `number`.

    A number stays a number: it becomes `1` followed by zeros, with `number` as the last digits.

    A known prefix and punctuation are kept. Each byte of a multi-byte character becomes one `x`, so the
    length in bytes does not change.
    """
    if value.isdigit():
        return b"1" + str(number).encode().rjust(len(value) - 1, b"0")
    prefix = re.match(rb"(?:org|proj|user|wrkspc|acct|team|req)[-_]", value)
    start = prefix.end() if prefix else 0
    rest = bytearray(re.sub(rb"[^@._-]", b"x", value[start:]))
    positions = [position for position, byte in enumerate(rest) if byte == ord("x")]
    for position, digit in zip(reversed(positions), reversed(str(number).encode()), strict=False):
        rest[position] = digit
    return value[:start] + bytes(rest)
