"""The last look before anything is written: what still looks like a key, an address or a long random word."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from streamconform.tools.record.placeholders import PATTERNS as PERSONAL
from streamconform.tools.record.placeholders import PLAIN

KEYS: Final[Mapping[str, re.Pattern[bytes]]] = {
    "an API key": re.compile(
        rb"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}|\b(?:gsk|xai|hf|sk|pk|rk|r8|nvapi)_[A-Za-z0-9_]{20,}"
        rb"|\bxai-[A-Za-z0-9]{20,}|\bnvapi-[A-Za-z0-9_-]{20,}"
    ),
    "an AWS key": re.compile(rb"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "a Google key": re.compile(rb"\bAIza[0-9A-Za-z_-]{35}|\bya29\.[0-9A-Za-z_-]{20,}"),
    "a GitHub or GitLab token": re.compile(rb"\b(?:gh[opsur]_|github_pat_|glpat-)[A-Za-z0-9_-]{20,}"),
    "a Slack token": re.compile(rb"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    "a bearer token": re.compile(rb"(?i:\bbearer\s+)[A-Za-z0-9._~+/=-]{16,}"),
    "a JSON Web Token": re.compile(rb"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}"),
    "a private key": re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY"),
    "an e-mail address": PERSONAL["e-mail address"],
}
"""What it looks like, and its pattern. A run of `x` is a placeholder and no finding."""

OPAQUE: Final = frozenset({
    "call_id", "data", "encrypted_content", "file_id", "id", "item_id", "obfuscation", "partial_image_b64",
    "previous_response_id", "response_id", "signature", "system_fingerprint", "tool_call_id", "tool_use_id",
})  # fmt: skip
"""JSON fields in which long random words are at home: ids of answers and calls, signatures, pictures."""

WORD: Final = re.compile(rb"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_=-]{24,}")
HEXADECIMAL: Final = re.compile(rb"[0-9a-fA-F-]+")
FIELD: Final = re.compile(rb'\\?"([A-Za-z0-9_.-]{1,64})\\?"\s*:\s*\[?\s*\\?"[^"\\]*$')
LOOKBACK: Final = 400
"""Bytes before a word in which its field's name is looked for."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that may be secret, told without telling it."""

    part: str
    """`request body`, `response body`, …"""
    offset: int
    looks_like: str
    size: int
    field: str | None
    """Name of the JSON field whose text it stands in."""
    fingerprint: str
    """The first 8 digits of its SHA-256: names the value without repeating it."""

    def __str__(self) -> str:
        """Return one line: where, what, and its fingerprint."""
        field = f" in field `{self.field}`" if self.field else ""
        return (
            f"{self.part}, byte {self.offset}{field}: {self.size} bytes that look like {self.looks_like} "
            f"(fingerprint {self.fingerprint})"
        )


def scan(parts: Mapping[str, bytes], allowed: Collection[str] = ()) -> tuple[Finding, ...]:
    """Return what is suspect in `parts` (name to bytes) and not `allowed` by field or fingerprint."""
    found = (each for part, data in parts.items() for each in _of_part(part, data))
    return tuple(each for each in found if each.field not in allowed and each.fingerprint not in allowed)


def _of_part(part: str, data: bytes) -> Iterator[Finding]:
    rest = bytearray(data)  # without what was found, so that nothing is found twice
    for looks_like, pattern in KEYS.items():
        for match in pattern.finditer(data):
            if not (_is_placeholder(match[0]) or PLAIN.search(match[0])):
                rest[match.start() : match.end()] = b" " * len(match[0])
                yield _finding(part, data, match, looks_like)
    for match in WORD.finditer(bytes(rest)):
        if _is_random(match[0]) and data[max(0, match.start() - 7) : match.start()] != b"base64,":
            finding = _finding(part, data, match, "a random word")
            if finding.field not in OPAQUE:
                yield finding


def _finding(part: str, data: bytes, match: re.Match[bytes], looks_like: str) -> Finding:
    before = FIELD.search(data[max(0, match.start() - LOOKBACK) : match.start()])
    return Finding(
        part=part,
        offset=match.start(),
        looks_like=looks_like,
        size=len(match[0]),
        field=before[1].decode() if before else None,
        fingerprint=hashlib.sha256(match[0]).hexdigest()[:8],
    )


def _is_placeholder(word: bytes) -> bool:
    return word.count(b"x") * 2 > len(word)


def _is_random(word: bytes) -> bool:
    """Return whether `word` carries more than words do: digits among letters, and few repetitions."""
    if not re.search(rb"[0-9]", word) or not re.search(rb"[A-Za-z]", word):
        return False
    bound = 3.0 if HEXADECIMAL.fullmatch(word) else 3.9
    counts = Counter(word).values()
    entropy = -sum(n / len(word) * math.log2(n / len(word)) for n in counts)
    return entropy > bound
