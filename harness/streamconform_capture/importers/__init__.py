"""Import captures from other tools as cassettes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final

from streamconform.apis import APIS
from streamconform.errors import Problem, SourceError
from streamconform.files import TooLargeError
from streamconform.files.json_text import check_values
from streamconform.model.cassette import Cassette
from streamconform.suite.cassettes import format_metadata
from streamconform_capture.importers import har, httprr, langchain, litellm, mitmproxy, raw, vcr
from streamconform_capture.importers.detect import detect_apis, explain_wrong_api
from streamconform_capture.importers.exchange import (
    Entry,
    ImportedExchange,
    NotImportable,
    SkippedExchange,
    find_secrets,
    make_slug,
    to_cassette,
)

Entries = Iterable[Entry | SkippedExchange]

MAX_FILE = 64 * 1024 * 1024
"""The maximum file size in bytes. The largest vcrpy cassette seen in a public repository is 9 MB."""

MAX_EXCHANGES: Final = 10_000
"""The maximum number of exchanges in a file: a few bytes can be one, which takes half a kilobyte."""


@dataclass(frozen=True, slots=True)
class ConvertedExchange:
    """The cassette made from an exchange."""

    cassette: Cassette
    secrets: tuple[bytes, ...]
    damage: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedFile:
    """The cassettes made from a file, and the exchanges that were skipped."""

    count: int
    """The number of exchanges in the file."""
    cassettes: tuple[Cassette, ...]
    skipped: tuple[SkippedExchange, ...]
    secrets: tuple[bytes, ...] = ()
    """The keys, passwords and cookies in the exchanges; no written file may contain one."""
    damage: Mapping[str, str]
    """What is missing from a recording, by the cassette's name."""


def import_file(
    path: Path, data: bytes, api: str | None, name: str | None, *, documents: bool = False
) -> ImportedFile:
    """Return the cassettes in `data`, the contents of the file `path`.

    Answers that do not stream are skipped unless `documents` is set. Without `api`, the API is detected from
    the path of each request. If there are several cassettes, they are numbered. Raises `SourceError` if the
    file does not have the format that its suffix indicates, or if `api` is needed but missing.
    """
    entries = [*_read_entries(path, data, api)]
    results = [
        entry if isinstance(entry, SkippedExchange) else _convert(entry, api, documents=documents)
        for entry in entries
    ]
    converted = [result for result in results if isinstance(result, ConvertedExchange)]
    stem = make_slug(name or path.name.partition(".")[0])
    numbers = [f"-{number}" for number in range(1, len(converted) + 1)] if len(converted) > 1 else [""]
    names = [f"{stem[: 80 - len(number)]}{number}" for number in numbers]
    return ImportedFile(
        count=len(entries),
        cassettes=tuple(
            replace(item.cassette, name=name) for item, name in zip(converted, names, strict=False)
        ),
        skipped=tuple(result for result in results if isinstance(result, SkippedExchange)),
        secrets=tuple(dict.fromkeys(secret for item in converted for secret in item.secrets)),
        damage={name: item.damage for item, name in zip(converted, names, strict=False) if item.damage},
    )


def _convert(entry: Entry, api: str | None, *, documents: bool) -> ConvertedExchange | SkippedExchange:
    """Return the cassette of one exchange, or why there is none, whatever the exchange contains."""
    try:
        exchange = entry.read()
        detected = (exchange.document_api if documents else None) or _detect_api(exchange, api)
        cassette, damage = to_cassette(exchange, detected, documents=documents)
        _check_savable(cassette)
        return ConvertedExchange(cassette, find_secrets(exchange), damage)
    except NotImportable as error:
        return SkippedExchange(entry.origin, str(error))
    except RecursionError:
        return SkippedExchange(entry.origin, "it is nested too deeply")
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError):
        return SkippedExchange(entry.origin, "it does not have the form of a recorded exchange")


def _check_savable(cassette: Cassette) -> None:
    try:
        format_metadata(cassette)
    except SourceError as error:
        raise NotImportable(f"it cannot be saved: {error.problems[0].message}") from error


def _read_entries(path: Path, data: bytes, api: str | None) -> Entries:
    """Return the exchanges in `data`, using the reader for the file's format."""
    if len(data) > MAX_FILE:
        raise SourceError((Problem(str(path), None, f"larger than {MAX_FILE} bytes"),))
    for recognises, read in READERS:
        if recognises(path, data):
            if data[:64].lstrip(b"\xef\xbb\xbf \r\n\t")[:1] == b"{":
                _check_values(path, data)
            entries = [*islice(read(path, data), MAX_EXCHANGES + 1)]
            if len(entries) > MAX_EXCHANGES:
                raise SourceError((Problem(str(path), None, f"more than {MAX_EXCHANGES} exchanges"),))
            return entries
    return (Entry(path.name, lambda: raw.read(path, data, api)),)


def _check_values(path: Path, data: bytes) -> None:
    try:
        check_values(data)
    except TooLargeError as error:
        raise SourceError((Problem(str(path), None, str(error)),)) from error


def _is_stream(exchange: ImportedExchange, api: str) -> bool:
    return APIS[api].detect_framing(exchange.status, exchange.decoded_body) != "document"


READERS: Final[tuple[tuple[Callable[[Path, bytes], bool], Callable[[Path, bytes], Entries]], ...]] = (
    (lambda path, _: path.name.endswith(".yaml.gz"), langchain.read),
    (lambda path, data: path.suffix == ".httprr" or httprr.is_trace(data), httprr.read),
    (lambda path, data: path.suffix == ".flow" or mitmproxy.is_flows(data), mitmproxy.read),
    (lambda _, data: litellm.is_interaction(data), litellm.read),
    (lambda path, data: path.suffix == ".har" or har.is_har(data), har.read),
    (vcr.is_cassette, vcr.read),
)
"""For each format that holds several exchanges, a function that recognises it, and its reader. Any other file
is treated as a body. The suffix is enough, because a file with a damaged beginning is not a body."""


def _detect_api(exchange: ImportedExchange, wanted: str | None) -> str:
    """Return the API of `exchange`. Raises `NotImportable` if there is none, or it is not the wanted one."""
    detected = exchange.api
    body = exchange.decoded_body
    if detected is None and exchange.document_api is not None:
        raise NotImportable(f"not a stream: non-streaming path `{exchange.path[-100:]}`")
    if detected is None and wanted is not None and (exchange.url is None or _is_stream(exchange, wanted)):
        # A gateway may serve an API at a different path; the API is then detected from the frames.
        wrong = explain_wrong_api(wanted, exchange.status, body)
        if wrong is not None:
            raise NotImportable(wrong)
        return wanted
    if detected is None and exchange.url is not None:
        # Its frames may resemble an API's: a provider's older endpoints have similar frames.
        raise NotImportable(f"no API uses its path: `{exchange.path[:100]}`")
    if detected is None:
        found = detect_apis(exchange.status, body)
        if len(found) == 1:
            return found[0]
        like = f" (it looks like {' or '.join(found)})" if found else ""
        raise NotImportable(
            f"cannot detect the API from its frames{like}; pass --api, one of {', '.join(APIS)}"
        )
    if wanted not in (None, detected):
        raise NotImportable(f"its path belongs to {detected}, not to {wanted}")
    return detected
