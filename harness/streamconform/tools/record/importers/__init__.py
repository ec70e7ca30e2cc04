"""Import captures made by other tools as cassettes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from streamconform.apis import APIS
from streamconform.errors import Problem, SourceError
from streamconform.model.cassette import Cassette
from streamconform.tools.record.importers import raw
from streamconform.tools.record.importers.exchange import (
    ImportedExchange,
    NotImportable,
    SkippedExchange,
    find_secrets,
    make_slug,
    to_cassette,
)

MAX_FILE = 64 * 1024 * 1024
"""Limit of a file in bytes. The largest vcrpy cassette seen in a public repository has 9 MB."""


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """The cassettes made from a file, and the exchanges that were skipped."""

    cassettes: tuple[Cassette, ...]
    skipped: tuple[SkippedExchange, ...]
    secrets: tuple[bytes, ...] = ()
    """Keys, passwords and cookies of the exchanges; no written file may contain one."""


def import_file(path: Path, data: bytes, api: str | None, name: str | None) -> ImportedFile:
    """Return the cassettes in `data`, the contents of the file `path`.

    Without `api`, the API is detected from the path of each request. If there are several cassettes, they
    are numbered. Raises `SourceError` if the file does not have the format that its suffix says, or if
    `api` is needed and missing.
    """
    stem = make_slug(name or path.name.partition(".")[0])
    skipped: list[SkippedExchange] = []
    accepted: list[tuple[ImportedExchange, str]] = []
    for exchange in _read_exchanges(path, data, api):
        if isinstance(exchange, SkippedExchange):
            skipped.append(exchange)
            continue
        detected = _detect_api(exchange, api)
        if isinstance(detected, SkippedExchange):
            skipped.append(detected)
        else:
            accepted.append((exchange, detected))
    cassettes: list[Cassette] = []
    for exchange, detected in accepted:
        number = f"-{len(cassettes) + 1}" if len(accepted) > 1 else ""
        try:
            cassettes.append(to_cassette(exchange, detected, f"{stem[: 80 - len(number)]}{number}"))
        except NotImportable as error:
            skipped.append(SkippedExchange(exchange.origin, str(error)))
    secrets = dict.fromkeys(secret for exchange, _ in accepted for secret in find_secrets(exchange))
    return ImportedFile(tuple(cassettes), tuple(skipped), tuple(secrets))


def _read_exchanges(path: Path, data: bytes, api: str | None) -> Iterable[ImportedExchange | SkippedExchange]:
    """Return the exchanges in `data`, using the reader for the file's format."""
    if len(data) > MAX_FILE:
        raise SourceError((Problem(str(path), None, f"larger than {MAX_FILE} bytes"),))
    if path.name.endswith(".yaml.gz"):
        from streamconform.tools.record.importers import langchain  # which imports vcrpy too

        return langchain.read(path, data)
    if path.suffix in (".yaml", ".yml", ".json"):
        from streamconform.tools.record.importers import vcr  # imports every HTTP library that is installed

        if vcr.is_cassette(path, data):
            return vcr.read(path, data)
    if api is None:
        message = f"cannot detect the API from this file; pass --api, one of {', '.join(APIS)}"
        raise SourceError((Problem(str(path), None, message),))
    return (raw.read(path, data, api),)


def _detect_api(exchange: ImportedExchange, wanted: str | None) -> str | SkippedExchange:
    """Return the API of `exchange`, or the reason to skip it."""
    detected = exchange.api
    if exchange.url is None and wanted is not None:
        return wanted
    # A gateway may serve an API at a path of its own; the body's framing decides then.
    if (
        detected is None
        and wanted is not None
        and APIS[wanted].detect_framing(exchange.status, exchange.body) != "document"
    ):
        return wanted
    if detected is None and exchange.wants_document:
        return SkippedExchange(exchange.origin, f"not a stream: non-streaming path `{exchange.path[-100:]}`")
    if detected is None:
        return SkippedExchange(exchange.origin, f"no API uses its path: `{exchange.path[:100]}`")
    if wanted not in (None, detected):
        return SkippedExchange(exchange.origin, f"its path belongs to {detected}, not to {wanted}")
    return detected
