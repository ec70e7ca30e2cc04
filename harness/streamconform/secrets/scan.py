"""Scan data, before it is written, for keys, addresses, phone and card numbers, and long random words.

The scan covers every text in all its forms (`decoded_forms`). For bodies, it also covers the answer with its
pieces joined (`joined`).
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from streamconform.secrets.decoded_forms import Form, iter_forms
from streamconform.secrets.joined import join_pieces
from streamconform.secrets.personal_numbers import CARD, NAMED_PHONE, PHONE, PHONES, is_card, is_phone
from streamconform.secrets.placeholders import PATTERNS as PERSONAL
from streamconform.secrets.placeholders import PLAIN


@dataclass(frozen=True, slots=True)
class SecretKind:
    """A kind of secret that is recognizable by its text."""

    looks_like: str
    pattern: str
    """Matches the value, or text whose first group is the value."""
    hints: tuple[bytes, ...] = ()
    """Lower-case texts; if any are given, every match contains at least one. Searching for these first is 50
    times faster.
    """
    word: bool = True
    """Whether matches must start at the start of a word or of a joined piece: `task-…` is not a key."""
    personal: bool = False
    """Whether the value identifies a person, rather than being a key. Such values are searched for only in
    unencoded text.
    """
    check: Callable[[bytes], bool] | None = None
    """Whether a value counts, in addition to the pattern."""

    def compile(self, *, word: bool = True) -> re.Pattern[bytes]:
        """Return the pattern, optionally restricted to the start of a word."""
        before = r"(?<![A-Za-z0-9])" if word and self.word else ""
        return re.compile((before + self.pattern).encode())


KINDS: Final = (
    SecretKind(
        "an API key",
        r"(?i:sk-(?:ant|proj|svcacct|admin|or-v1|lf)-)[A-Za-z0-9_-]{16,}",
        (b"sk-ant-", b"sk-proj-", b"sk-svcacct-", b"sk-admin-", b"sk-or-v1-", b"sk-lf-"),
        word=False,
    ),
    SecretKind(
        "an API key",
        r"(?:(?i:(?:sk|pk|rk|csk)-)[A-Za-z0-9_-]{16,}"
        r"|(?i:(?:gsk|xai|hf|sk|pk|rk|r8|nvapi|fw|jina)_(?:(?:live|test|prod)_)?)[A-Za-z0-9]{20,}"
        r"|(?i:xai-)[A-Za-z0-9]{20,}|(?i:nvapi-|pplx-)[A-Za-z0-9_-]{20,}|(?i:tgp_v1_)[A-Za-z0-9_-]{20,})",
        (b"k-", b"k_", b"xai", b"hf_", b"r8_", b"nvapi", b"fw_", b"jina_", b"pplx-", b"tgp_v1_"),
    ),
    SecretKind("an AWS key", r"(?:AKIA|ASIA)[0-9A-Z]{16}(?![A-Za-z0-9])", (b"akia", b"asia"), word=False),
    SecretKind(
        "a Bedrock key",
        r"(?:ABSK[A-Za-z0-9+/]{60,}={0,2}|bedrock-api-key-[A-Za-z0-9+/=]{40,})",
        (b"absk", b"bedrock-api-key-"),
    ),
    SecretKind("an Azure key", r"[A-Za-z0-9]{20,60}(?:JQQJ99|jqqj99)[A-Za-z0-9]{16,60}", (b"jqqj99",)),
    SecretKind(
        "a Google key",
        r"(?:(?:AIza|AIZA)[0-9A-Za-z_-]{35}|(?:ya29|YA29)\.[0-9A-Za-z_-]{20,}|AQ\.A[0-9A-Za-z_-]{30,})",
        (b"aiza", b"ya29.", b"aq.a"),
        word=False,
    ),
    SecretKind(
        "a GitHub or GitLab token",
        r"(?i:gh[opsur]_|github_pat_|glpat-)[A-Za-z0-9_-]{20,}",
        (b"gho_", b"ghp_", b"ghs_", b"ghu_", b"ghr_", b"github_pat_", b"glpat-"),
        word=False,
    ),
    SecretKind("a Slack token", r"(?i:xox[abeoprs]-)[A-Za-z0-9-]{10,}", (b"xox",)),
    SecretKind("a bearer token", r"(?i:bearer\s+)[A-Za-z0-9._~+/=-]{16,}", (b"bearer",)),
    SecretKind("Basic credentials", r"(?i:basic\s+)[A-Za-z0-9+/_-]{12,}={0,2}", (b"basic",)),
    SecretKind("a JSON Web Token", r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}", (b"eyj",)),
    SecretKind("a private key", r"-----BEGIN [A-Z ]*PRIVATE KEY", (b"private key",)),
    SecretKind(
        "an AWS account",
        # Example numbers from documentation, and those that `placeholders` writes, are not accounts.
        r"arn:aws[a-z-]*:[a-z0-9-]*:[a-z0-9-]*:"
        r"(?!123456789012|111122223333|444455556666|999999999999|10{6})[0-9]{12}(?=:)",
        (b"arn:aws",),
        personal=True,
    ),
    SecretKind("an e-mail address", PERSONAL["e-mail address"].pattern.decode(), (b"@",), personal=True),
    *(
        SecretKind(looks_like, pattern.pattern.decode(), hints, word=False, personal=True, check=check)
        for looks_like, pattern, hints, check in (
            ("a card number", CARD, (), is_card),
            ("a phone number", PHONE, (), is_phone),
            ("a phone number", NAMED_PHONE, PHONES, is_phone),
        )
    ),
)
"""Values that consist mostly of `x` are placeholders and are not reported."""

OPAQUE: Final = frozenset({
    "call_id", "data", "encrypted_content", "file_id", "id", "item_id", "obfuscation", "partial_image_b64",
    "previous_response_id", "response_id", "signature", "system_fingerprint", "tool_call_id", "tool_use_id",
})  # fmt: skip
"""JSON fields that normally contain long random words: response and call ids, signatures, images."""

RANDOM_WORD: Final = "a random word"
"""The description of findings that match no known kind."""
WORD: Final = re.compile(rb"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_=-]{24,}")
HEXADECIMAL: Final = re.compile(rb"[0-9a-fA-F-]+")
FIELD: Final = re.compile(rb'\\?"([A-Za-z0-9_.-]{1,64})\\?"\s*:\s*\[?\s*\\?"[^"\\]*$')
LOOKBACK: Final = 400
"""The number of bytes before a word that are searched for its field name."""
LONGEST_VALUE: Final = 4096
"""The number of bytes of the joined text, from the start of each piece, that are matched against a
pattern."""

_IN_TEXT: Final = tuple((kind, kind.compile()) for kind in KINDS)
_IN_PIECES: Final = tuple((kind, kind.compile(word=False)) for kind in KINDS if not kind.personal)


@dataclass(frozen=True, slots=True)
class SecretFinding:
    """A value that may be secret, described without revealing it."""

    part: str
    """`request body`, `response body`, …"""
    offset: int
    """The byte offset in the part, or in its decoded or joined form."""
    looks_like: str
    size: int
    field: str | None
    """The name of the JSON field whose text contains it."""
    fingerprint: str
    """The first 8 digits of its SHA-256."""
    how: str = ""
    """The step that reveals the value: decoding, or joining the pieces of an answer; empty for plain text."""

    def __str__(self) -> str:
        """Return one line: location, description and fingerprint."""
        field = f" in field `{self.field}`" if self.field else ""
        how = f", after {self.how}" if self.how else ""
        return (
            f"{self.part}{how}, byte {self.offset}{field}: "
            f"{self.size} bytes that look like {self.looks_like} (fingerprint {self.fingerprint})"
        )


def scan(
    parts: Mapping[str, bytes], allowed: Collection[str] = (), *, random_words: bool = True
) -> tuple[SecretFinding, ...]:
    """Return the suspect values in `parts` (name to bytes) whose field or fingerprint is not `allowed`.

    A value that appears in several forms of a part is reported once per part.
    """
    findings = (
        finding
        for part, data in parts.items()
        for finding in _scan_part(part, data, random_words=random_words)
    )
    return _drop_allowed(findings, allowed)


def scan_answer(part: str, values: Iterable[Any], allowed: Collection[str] = ()) -> tuple[SecretFinding, ...]:
    """Return the keys that appear when the strings in the parsed payloads `values` are joined."""
    return _drop_allowed(_scan_joined(part, values), allowed)


def find_known(
    parts: Mapping[str, bytes], answers: Mapping[str, Iterable[Any]], secrets: Collection[bytes]
) -> str | None:
    """Return the name of a part that contains one of `secrets` in any form, or None.

    `answers` contains the parsed payloads of some parts; their pieces are joined for the search. Letters
    match in either case.
    """
    wanted = [secret.lower() for secret in secrets]
    if not wanted:
        return None
    for part, data in parts.items():
        if _contains(data, wanted):
            return part
    for part, values in answers.items():
        if any(_contains(joined.data, wanted) for joined in join_pieces(values)):
            return part
    return None


def redact(text: str) -> str:
    """Return `text`, a message for the terminal, with plain-text keys replaced by `x`.

    If decoding reveals another key, the whole text is withheld.
    """
    data = text.encode("utf-8", "surrogateescape")
    for kind, pattern in _IN_TEXT:
        if not kind.personal:
            data = pattern.sub(partial(_blank_secret, kind), data)
    if any(not kind.personal for form in iter_forms(data) for kind, _ in _find_keys(form)):
        return "(not shown, since it may contain a secret)"
    return data.decode("utf-8", "surrogateescape")


def _blank_secret(kind: SecretKind, match: re.Match[bytes]) -> bytes:
    return b"x" * len(match[0]) if _is_secret(kind, match[0]) else match[0]


def _contains(data: bytes, wanted: Collection[bytes]) -> bool:
    return any(
        secret in text for form in iter_forms(data) for text in (form.data.lower(),) for secret in wanted
    )


def _drop_allowed(findings: Iterable[SecretFinding], allowed: Collection[str]) -> tuple[SecretFinding, ...]:
    return tuple(
        finding for finding in findings if finding.field not in allowed and finding.fingerprint not in allowed
    )


def _scan_part(part: str, data: bytes, *, random_words: bool) -> Iterator[SecretFinding]:
    reported = set()
    rest = bytearray(data)  # a copy with keys blanked, so that they are not reported again as random words
    for form in iter_forms(data):
        for kind, match in _find_keys(form):
            finding = _make_finding(part, form, match, kind.looks_like)
            if not form.removed:
                start, end = match.span(_get_group(match))
                if rest[start] == ord(" "):
                    continue  # a more specific kind has already reported it
                rest[start:end] = b" " * (end - start)
            elif finding.fingerprint in reported:
                continue
            reported.add(finding.fingerprint)
            yield finding
    for match in WORD.finditer(bytes(rest)) if random_words else ():
        # The data of a data URL, such as an image, is expected to look random.
        if _is_random(match[0]) and data[max(0, match.start() - 7) : match.start()] != b"base64,":
            finding = _make_finding(part, Form(data), match, RANDOM_WORD)
            if finding.field not in OPAQUE:
                yield finding


def _find_keys(form: Form) -> Iterator[tuple[SecretKind, re.Match[bytes]]]:
    lower = form.data.lower()
    for kind, pattern in _IN_TEXT:
        if (form.is_binary and kind.personal) or not _may_match(kind, lower):
            continue
        for match in pattern.finditer(form.data):
            if _is_secret(kind, match[_get_group(match)]):
                yield kind, match


def _scan_joined(part: str, values: Iterable[Any]) -> Iterator[SecretFinding]:
    reported: set[bytes] = set()
    for joined in join_pieces(values):
        for form in iter_forms(joined.data):
            lower = form.data.lower()
            # The offsets are those in the joined text, not in what is decoded from it.
            starts = () if form.removed else joined.starts
            for (kind, anywhere), (_, pattern) in zip(
                (pair for pair in _IN_TEXT if not pair[0].personal), _IN_PIECES, strict=True
            ):
                if not _may_match(kind, lower):
                    continue
                at_pieces = (pattern.match(form.data, start, start + LONGEST_VALUE) for start in starts)
                for match in (*anywhere.finditer(form.data), *filter(None, at_pieces)):
                    finding = _make_finding(part, form, match, kind.looks_like, joined.how)
                    # When pieces are joined in another way, the same key may be followed by other text.
                    if _is_secret(kind, match[0]) and not any(value in match[0] for value in reported):
                        reported.add(match[0])
                        yield finding


def _may_match(kind: SecretKind, lower: bytes) -> bool:
    return not kind.hints or any(hint in lower for hint in kind.hints)


def _get_group(match: re.Match[bytes]) -> int:
    """Return the group that has the value: the first one, or the whole match."""
    return min(1, match.re.groups)


def _make_finding(
    part: str, form: Form, match: re.Match[bytes], looks_like: str, how: str = ""
) -> SecretFinding:
    group = _get_group(match)
    start = match.start(group)
    before = FIELD.search(form.data[max(0, start - LOOKBACK) : start])
    steps = [how] if how else []
    if form.removed:
        steps.append(f"decoding {', '.join(form.removed)}")
    return SecretFinding(
        part=part,
        offset=start,
        looks_like=looks_like,
        size=len(match[group]),
        field=before[1].decode() if before else None,
        fingerprint=hashlib.sha256(match[group]).hexdigest()[:8],
        how=" and ".join(steps),
    )


def _is_secret(kind: SecretKind, value: bytes) -> bool:
    """Return whether a match of `kind` may be secret; placeholders and example addresses are not."""
    if _is_placeholder(value) or PLAIN.search(value) or (kind.check is not None and not kind.check(value)):
        return False
    if kind.looks_like == "Basic credentials":
        # `basic` is also an ordinary word, so what follows it must decode to `user:password`.
        return any(b":" in form.data for form in iter_forms(value.split()[-1]) if form.removed)
    return True


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
