"""Import captures from other tools as cassettes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streamconform.apis import APIS
from streamconform.errors import Problem, SourceError
from streamconform.model.cassette import Cassette
from streamconform_capture.importers import har, httprr, mitmproxy, raw
from streamconform_capture.importers.detect import detect_apis, explain_wrong_api
from streamconform_capture.importers.exchange import (
    ImportedExchange,
    NotImportable,
    SkippedExchange,
    find_secrets,
    make_slug,
    to_cassette,
)

Exchanges = Iterable[ImportedExchange | SkippedExchange]

MAX_FILE = 64 * 1024 * 1024
"""The maximum file size in bytes. The largest vcrpy cassette seen in a public repository is 9 MB."""


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """The cassettes made from a file, and the exchanges that were skipped."""

    cassettes: tuple[Cassette, ...]
    skipped: tuple[SkippedExchange, ...]
    secrets: tuple[bytes, ...] = ()
    """The keys, passwords and cookies in the exchanges; no written file may contain one."""


def import_file(path: Path, data: bytes, api: str | None, name: str | None) -> ImportedFile:
    """Return the cassettes in `data`, the contents of the file `path`.

    Without `api`, the API is detected from the path of each request. If there are several cassettes, they are
    numbered. Raises `SourceError` if the file does not have the format that its suffix indicates, or if `api`
    is needed but missing.
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


def _read_exchanges(path: Path, data: bytes, api: str | None) -> Exchanges:
    """Return the exchanges in `data`, using the reader for the file's format."""
    if len(data) > MAX_FILE:
        raise SourceError((Problem(str(path), None, f"larger than {MAX_FILE} bytes"),))
    for recognises, read in READERS:
        if recognises(path, data):
            return read(path, data)
    return (raw.read(path, data, api),)


def _is_stream(exchange: ImportedExchange, api: str) -> bool:
    return APIS[api].detect_framing(exchange.status, exchange.decoded_body) != "document"


def _read_langchain(path: Path, data: bytes) -> Exchanges:
    from streamconform_capture.importers import langchain  # this module imports vcrpy too

    return langchain.read(path, data)


def _is_vcr(path: Path, data: bytes) -> bool:
    return path.suffix in (".yaml", ".yml") or (
        path.suffix == ".json" and data.lstrip()[:1] == b"{" and b'"interactions"' in data
    )


def _read_vcr(path: Path, data: bytes) -> Exchanges:
    from streamconform_capture.importers import vcr  # imports every HTTP library that is installed

    return vcr.read(path, data)


READERS: Final[tuple[tuple[Callable[[Path, bytes], bool], Callable[[Path, bytes], Exchanges]], ...]] = (
    (lambda path, _: path.name.endswith(".yaml.gz"), _read_langchain),
    (lambda _, data: httprr.is_trace(data), httprr.read),
    (lambda _, data: mitmproxy.is_flows(data), mitmproxy.read),
    (lambda _, data: har.is_har(data), har.read),
    (_is_vcr, _read_vcr),
)
"""For each format that holds several exchanges, a function that recognises it, and its reader. Any other file
is treated as a body."""


def _detect_api(exchange: ImportedExchange, wanted: str | None) -> str | SkippedExchange:
    """Return the API of `exchange`, or the reason to skip it."""
    detected = exchange.api
    body = exchange.decoded_body
    if detected is None and exchange.wants_document:
        return SkippedExchange(exchange.origin, f"not a stream: non-streaming path `{exchange.path[-100:]}`")
    if detected is None and wanted is not None and (exchange.url is None or _is_stream(exchange, wanted)):
        # A gateway may serve an API at a different path; the API is then detected from the frames.
        wrong = explain_wrong_api(wanted, exchange.status, body)
        return wanted if wrong is None else SkippedExchange(exchange.origin, wrong)
    if detected is None and exchange.url is not None:
        # Its frames may resemble an API's: a provider's older endpoints have similar frames.
        return SkippedExchange(exchange.origin, f"no API uses its path: `{exchange.path[:100]}`")
    if detected is None:
        found = detect_apis(exchange.status, body)
        if len(found) == 1:
            return found[0]
        like = f" (it looks like {' or '.join(found)})" if found else ""
        message = f"cannot detect the API from its frames{like}; pass --api, one of {', '.join(APIS)}"
        return SkippedExchange(exchange.origin, message)
    if wanted not in (None, detected):
        return SkippedExchange(exchange.origin, f"its path belongs to {detected}, not to {wanted}")
    return detected
