"""`conform serve --to FORMAT`: write cassettes in the formats of other tools, which replay them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from streamconform.errors import SelectionError, UsageError
from streamconform.files import write_atomically
from streamconform.model.case import AnyCase, BehaviorCase, Case, RoundTripCase
from streamconform.model.cassette import Cassette
from streamconform.plural import format_count
from streamconform.replay.formats import FORMATS, find_base_url


def write_files(cases: Iterable[AnyCase], form: str, out: str, base_url: str | None) -> None:
    """Write the cassettes of `cases` in the format `form` to the folder `out`, and print their paths.

    Raises:
        SelectionError: no case has a cassette.
        UsageError: a file exists; then none is written.

    """
    # Several cases may test one cassette, which becomes one file.
    chosen = {(cassette.api, cassette.name): cassette for case in cases for cassette in _list_cassettes(case)}
    if not chosen:
        raise SelectionError("none of the selected cases has a cassette")
    write, suffix = FORMATS[form]
    address = base_url.rstrip("/") if base_url is not None else None
    # All paths are checked before the first file is written.
    files: dict[Path, bytes] = {}
    for (api, name), cassette in chosen.items():
        path = Path(out, api, f"{name}.{suffix or cassette.suffix}")
        if path.exists():
            raise UsageError(f"`{path}` exists; choose another folder with `--out`")
        files[path] = write(cassette, address or find_base_url(cassette))
    for path, data in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, data)
        click.echo(str(path))
    click.echo(format_count(len(files), "file"), err=True)


def _list_cassettes(case: AnyCase) -> tuple[Cassette, ...]:
    match case:
        case Case():
            return () if case.unavailable is not None else (case.cassette,)
        case BehaviorCase(streams=streams):
            return tuple(stream.cassette for stream in streams.values())
        case RoundTripCase():
            return tuple(answer.cassette for answer in case.answers)
        case _:
            return ()
