"""Scan for values that still look like a key, an e-mail address or a long random word before writing."""

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
"""Description to pattern. Values that consist mostly of `x` are placeholders and are not reported."""

OPAQUE: Final = frozenset({
    "call_id", "data", "encrypted_content", "file_id", "id", "item_id", "obfuscation", "partial_image_b64",
    "previous_response_id", "response_id", "signature", "system_fingerprint", "tool_call_id", "tool_use_id",
})  # fmt: skip
"""JSON fields that normally contain long random words: response and call ids, signatures, images."""

WORD: Final = re.compile(rb"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_=-]{24,}")
HEXADECIMAL: Final = re.compile(rb"[0-9a-fA-F-]+")
FIELD: Final = re.compile(rb'\\?"([A-Za-z0-9_.-]{1,64})\\?"\s*:\s*\[?\s*\\?"[^"\\]*$')
LOOKBACK: Final = 400
"""Bytes before a word that are searched for its field name."""


@dataclass(frozen=True, slots=True)
class SecretFinding:
    """A value that may be secret, described without revealing it."""

    part: str
    """`request body`, `response body`, …"""
    offset: int
    looks_like: str
    size: int
    field: str | None
    """Name of the JSON field whose text contains it."""
    fingerprint: str
    """The first 8 digits of its SHA-256."""

    def __str__(self) -> str:
        """Return one line: location, description and fingerprint."""
        field = f" in field `{self.field}`" if self.field else ""
        return (
            f"{self.part}, byte {self.offset}{field}: {self.size} bytes that look like {self.looks_like} "
            f"(fingerprint {self.fingerprint})"
        )


def scan(parts: Mapping[str, bytes], allowed: Collection[str] = ()) -> tuple[SecretFinding, ...]:
    """Return the suspect values in `parts` (name to bytes) whose field or fingerprint is not `allowed`."""
    findings = (finding for part, data in parts.items() for finding in _scan_part(part, data))
    return tuple(
        finding for finding in findings if finding.field not in allowed and finding.fingerprint not in allowed
    )


def _scan_part(part: str, data: bytes) -> Iterator[SecretFinding]:
    rest = bytearray(data)  # keys are blanked in it, so that they are not reported again as random words
    for looks_like, pattern in KEYS.items():
        for match in pattern.finditer(data):
            if not (_is_placeholder(match[0]) or PLAIN.search(match[0])):
                rest[match.start() : match.end()] = b" " * len(match[0])
                yield _make_finding(part, data, match, looks_like)
    for match in WORD.finditer(bytes(rest)):
        if _is_random(match[0]) and data[max(0, match.start() - 7) : match.start()] != b"base64,":
            finding = _make_finding(part, data, match, "a random word")
            if finding.field not in OPAQUE:
                yield finding


def _make_finding(part: str, data: bytes, match: re.Match[bytes], looks_like: str) -> SecretFinding:
    before = FIELD.search(data[max(0, match.start() - LOOKBACK) : match.start()])
    return SecretFinding(
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
    """Return whether `word` looks random: digits among letters, and a high entropy per character."""
    if not re.search(rb"[0-9]", word) or not re.search(rb"[A-Za-z]", word):
        return False
    # 16 digits allow at most 4 bits per character, base64 allows 6.
    bound = 3.0 if HEXADECIMAL.fullmatch(word) else 3.9
    counts = Counter(word).values()
    entropy = -sum(n / len(word) * math.log2(n / len(word)) for n in counts)
    return entropy > bound
