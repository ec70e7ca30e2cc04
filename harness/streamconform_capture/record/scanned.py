"""The scan that data must pass before `record`, `listen`, `import`, `minimise` or `draft` writes it.

`scan_for_writing` is the only function that makes a `Scanned`, and `save` writes nothing else. A test lists
every place in the harness that writes a file, so new code cannot bypass the scan unnoticed.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import structs

from streamconform.apis import APIS
from streamconform.model.cassette import Cassette, Request
from streamconform.plural import format_count
from streamconform.secrets import scrub
from streamconform.secrets.joined import parse_payload
from streamconform.secrets.scan import RANDOM_WORD, SecretFinding, find_known, scan, scan_answer
from streamconform.wire.framings import split
from streamconform_capture.record import draft
from streamconform_capture.record.errors import SecretsLeft

MAX_FINDINGS_SHOWN: Final = 5
"""The maximum number of findings listed in an error; the others are only counted."""
_SEAL: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unscanned:
    """The data to write, and the known secrets of the exchange."""

    cassette: Cassette
    text: str
    """YAML that is written with the cassette: a draft case or a complete spec."""
    where: str
    """The endpoint or file that the exchange comes from, for messages."""
    secrets: tuple[bytes, ...] = ()
    """The keys and passwords in the exchange. They are never allowed."""


@dataclass(frozen=True, slots=True)
class Scanned:
    """A cassette and its draft, both free of secrets."""

    cassette: Cassette
    text: str
    notes: tuple[SecretFinding, ...]
    """Random words that the scan allowed; the user should review them."""
    seal: object = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        """Raise `TypeError` unless `scan_for_writing` made the value."""
        if self.seal is not _SEAL:
            raise TypeError("only `scan_for_writing` makes a `Scanned`")


def scan_for_writing(
    drafts: Iterable[Unscanned], allowed: Collection[str] = (), *, refuse_random_words: bool = True
) -> tuple[Scanned, ...]:
    """Return `drafts` as values that may be written.

    The scan covers the request, answer, twin, provenance and draft: unchanged, decoded, with the pieces of
    the answer joined, and as read by the bundled parser. `allowed` contains fingerprints and names of JSON
    fields. Random words may be harmless and needed to repeat a capture, so `refuse_random_words` determines
    whether they are rejected or only noted.

    Raises:
        SecretsLeft: one of the drafts still contains a secret, so nothing may be written.

    """
    scanned = []
    refused: list[tuple[Unscanned, SecretFinding]] = []
    for unscanned in drafts:
        findings = find_secrets(unscanned, allowed)
        notes = () if refuse_random_words else tuple(f for f in findings if f.looks_like == RANDOM_WORD)
        refused += [(unscanned, finding) for finding in findings if finding not in notes]
        scanned.append(Scanned(unscanned.cassette, unscanned.text, notes, _SEAL))
    if refused:
        raise SecretsLeft(refused[0][0].where, _format_findings(refused))
    return tuple(scanned)


def find_secrets(unscanned: Unscanned, allowed: Collection[str] = ()) -> tuple[SecretFinding, ...]:
    """Return the suspect values in any part, each once.

    Raises:
        SecretsLeft: a part contains one of the known secrets.

    """
    cassette = unscanned.cassette
    parts = collect_parts(cassette)
    content = {"decoded content": content} if (content := _decode_content(cassette)) is not None else {}
    answers = _parse_parts(cassette)
    draft_text = {"draft": unscanned.text.encode()}
    check_known(unscanned.where, parts | content | draft_text, answers, unscanned.secrets)
    # The same value may be found in several forms; plain text is the most informative one.
    found = list(scan(parts | content, ()))
    found += (f for part, values in answers.items() for f in scan_answer(part, values))
    found += scan(draft_text, random_words=False)
    # A value that is allowed in one field is harmless wherever else it occurs.
    harmless = {f.fingerprint for f in found if f.field in allowed} | {*allowed}
    left = [finding for finding in found if finding.fingerprint not in harmless]
    clear = {(f.part, f.offset): f for f in left if not f.how and f.part in parts}
    seen = {f.fingerprint for f in clear.values()}
    # Reversed, so that the first finding of each value wins.
    hidden = {f.fingerprint: f for f in reversed(left) if f.fingerprint not in seen}
    return (*clear.values(), *hidden.values())


def check_known(
    where: str, parts: Mapping[str, bytes], answers: Mapping[str, list[Any]], secrets: Collection[bytes]
) -> None:
    """Raise `SecretsLeft` if `parts`, or joined pieces of `answers`, contain one of `secrets` in any form."""
    part = next((name for name, data in parts.items() if scrub.blank(data, secrets) != data), None)
    part = part or find_known(parts, answers, secrets)
    if part is not None:
        raise SecretsLeft(
            where,
            f"the {part} contains the key or the value of a secret header, which cannot be replaced "
            "there. Remove it from the request",
        )


def collect_parts(cassette: Cassette) -> dict[str, bytes]:
    """Return the parts of a cassette that are written to files, keyed by the names used in findings."""
    request: Request = cassette.request
    parts = {
        "request path": request.path.encode(),
        "request headers": json.dumps(dict(request.headers)).encode(),
        "request body": json.dumps(request.body, ensure_ascii=False).encode("utf-8", "replace"),
        "response headers": json.dumps(dict(cassette.headers)).encode(),
        "response body": cassette.body,
    }
    provenance = json.dumps([cassette.name, *structs.astuple(cassette.provenance)], ensure_ascii=False)
    twin = {} if cassette.twin is None else {"twin": cassette.twin}
    return parts | {"provenance": provenance.encode("utf-8", "replace")} | twin


def _parse_parts(cassette: Cassette) -> dict[str, list[Any]]:
    """Return the parsed payloads of the request, the answer and the twin."""
    framed = APIS[cassette.api].detect_framing(cassette.status, cassette.body)
    frames = split(framed, cassette.body)
    payloads = [frame.payload for frame in frames] if frames else [cassette.body]
    twin = {} if cassette.twin is None else {"twin": [parse_payload(cassette.twin)]}
    return {
        "response body": [parse_payload(payload) for payload in payloads],
        "request body": [cassette.request.body],
    } | twin


def _decode_content(cassette: Cassette) -> bytes | None:
    """Return the content as the bundled parser reads it, or None if it does not support the API."""
    try:
        outcome = draft.decode_cassette(cassette)
    except draft.DraftRefused:
        return None
    content = [dataclasses.asdict(block) for block in outcome.content]
    return json.dumps(content, ensure_ascii=False, default=str).encode("utf-8", "replace")


def _format_findings(refused: list[tuple[Unscanned, SecretFinding]]) -> str:
    several = len({unscanned.where for unscanned, _ in refused}) > 1
    lines = [
        f"\n  {f'{unscanned.where}: ' if several else ''}{finding}"
        for unscanned, finding in refused[:MAX_FINDINGS_SHOWN]
    ]
    if len(refused) > MAX_FINDINGS_SHOWN:
        lines.append(f"\n  and {len(refused) - MAX_FINDINGS_SHOWN} more")
    first = refused[0][1]
    allow = f"`--allow {first.fingerprint}`" + (f" or `--allow {first.field}`" if first.field else "")
    return (
        f"{format_count(len(refused), 'possible secret')} found{''.join(lines)}\n"
        f"Remove them from the request or the file, or allow harmless ones: {allow} for the first"
    )
