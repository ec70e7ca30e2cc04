"""Captures that other tools made become cassettes: the table of readers, and what is taken of a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from streamconform.apis import APIS
from streamconform.errors import Problem, SourceError
from streamconform.model.cassette import Cassette
from streamconform.tools.record.importers import raw
from streamconform.tools.record.importers.exchange import Exchange, Left, Unfit, slug, to_cassette

MAX_FILE = 64 * 1024 * 1024
"""The largest file that is read: the largest vcrpy cassette known to us has 9 MB."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What is in a file: cassettes, and exchanges that are left out."""

    cassettes: tuple[Cassette, ...]
    left: tuple[Left, ...]


def take(path: Path, data: bytes, api: str | None, name: str | None) -> Taken:
    """Return the cassettes that are in the file `path`, which holds `data`.

    Without `api` the path of each request tells it. Several cassettes are numbered. Raises `SourceError`
    where the file is not what its name says, or tells no api and none is given.
    """
    stem = slug(name or path.name.partition(".")[0])
    left: list[Left] = []
    found: list[tuple[Exchange, str]] = []
    for exchange in _exchanges(path, data, api):
        if isinstance(exchange, Left):
            left.append(exchange)
            continue
        chosen = _api(exchange, api)
        if isinstance(chosen, Left):
            left.append(chosen)
        else:
            found.append((exchange, chosen))
    made: list[Cassette] = []
    for exchange, chosen in found:
        number = f"-{len(made) + 1}" if len(found) > 1 else ""
        try:
            made.append(to_cassette(exchange, chosen, f"{stem[: 80 - len(number)]}{number}"))
        except Unfit as error:
            left.append(Left(exchange.origin, str(error)))
    return Taken(tuple(made), tuple(left))


def _exchanges(path: Path, data: bytes, api: str | None) -> Iterable[Exchange | Left]:
    """Return what is in `data`, by the reader that the file asks for."""
    if len(data) > MAX_FILE:
        raise SourceError((Problem(str(path), None, f"larger than {MAX_FILE} bytes"),))
    if path.suffix in (".yaml", ".yml", ".json"):
        from streamconform.tools.record.importers import vcr  # imports every HTTP library that is installed

        if vcr.is_cassette(path, data):
            return vcr.read(path, data)
    if api is None:
        words = f"nothing in the file tells its api; give `--api`, one of {', '.join(APIS)}"
        raise SourceError((Problem(str(path), None, words),))
    return (raw.read(path, data, api),)


def _api(exchange: Exchange, wanted: str | None) -> str | Left:
    """Return the api of `exchange`, or why it is left out."""
    found = exchange.api
    if exchange.url is None and wanted is not None:
        return wanted
    if (
        found is None
        and wanted is not None
        and APIS[wanted].detect_framing(exchange.status, exchange.body) != "document"
    ):
        return wanted
    if found is None and exchange.at_once:
        return Left(exchange.origin, f"not a stream: it was asked for at `{exchange.path[-100:]}`")
    if found is None:
        return Left(exchange.origin, f"its path belongs to no api: `{exchange.path[:100]}`")
    if wanted not in (None, found):
        return Left(exchange.origin, f"its path belongs to {found}, not to {wanted}")
    if found not in APIS:
        return Left(exchange.origin, f"{found} is not known to this version")
    return found
