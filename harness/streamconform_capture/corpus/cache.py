"""The cache of pulled sources: recordings, and a summary of what was not imported."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streamconform.errors import Problem, SourceError, UsageError
from streamconform.files import read_regular
from streamconform.user_cache import CORPUS, find_user_cache
from streamconform_capture.corpus.sources import Source

ABOUT: Final = "source.json"
"""The summary in a source's folder; it exists if and only if the pull finished."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PulledSource:
    """The result of a pull."""

    folder: Path
    by: str
    """The version of streamconform that read the archive."""
    recordings: Mapping[str, int]
    """The number of recordings per API."""
    left: Mapping[str, int]
    """The number of exchanges and files that were not imported, by reason."""


def locate_root(given: str | None) -> Path:
    """Return the folder for pulled sources; `given` is a cache folder chosen by the user."""
    return find_user_cache(given) / CORPUS


def read_pulled(root: Path, source: Source) -> PulledSource | None:
    """Return `source`'s summary, or None if it was not pulled.

    Raises `SourceError` if its folder is damaged.
    """
    folder = root / source.key
    if not folder.exists():
        return None
    path = folder / ABOUT
    try:
        about = json.loads(read_regular(path))
        return PulledSource(
            folder=folder,
            by=str(about["by"]),
            recordings={str(api): int(count) for api, count in about["recordings"].items()},
            left={str(why): int(count) for why, count in about["left"].items()},
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        words = f"damaged; delete `{folder}`, then use --pull"
        raise SourceError((Problem(str(path), None, words),)) from error


def format_about(source: Source, found: PulledSource) -> str:
    """Return the summary as the text of `source.json`."""
    document = {
        "name": source.name,
        "distribution": source.distribution,
        "version": source.version,
        "sha256": source.sha256,
        "licence": source.licence,
        "by": found.by,
        "recordings": dict(found.recordings),
        "left": dict(found.left),
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def locate_recordings(root: Path, source: Source) -> Path:
    """Return the folder with `source`'s recordings. Raises `UsageError` if it was not pulled."""
    found = read_pulled(root, source)
    if found is None:
        raise UsageError(
            f"`{source.name}` was not pulled to `{root}`; add --pull, or pass `./{source.name}` for a local "
            "folder of that name"
        )
    return found.folder
