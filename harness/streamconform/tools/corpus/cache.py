"""Where pulled sources lie on a user's machine: recordings, and a note of what became of the rest."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streamconform.errors import Problem, SourceError, UsageError
from streamconform.tools.corpus.sources import SOURCES, Source
from streamconform.user_cache import user_cache

ABOUT: Final = "source.json"
"""In the folder of a source: what was pulled. It is there if and only if the pull came to its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PulledSource:
    """What came of a pull."""

    folder: Path
    by: str
    """Version of streamconform that read the archive."""
    recordings: Mapping[str, int]
    """By api."""
    left: Mapping[str, int]
    """Exchanges and files that were not imported, by reason."""


def locate_root(given: str | None) -> Path:
    """Return the folder of pulled sources; `given` is the cache folder that a user names."""
    return user_cache(given) / "corpus"


def find_source(name: str) -> Source:
    """Return the source that is called `name`; raises `UsageError` with those that there are."""
    if name not in SOURCES:
        raise UsageError(f"no source `{name}`; known are {', '.join(SOURCES)}")
    return SOURCES[name]


def read_pulled(root: Path, source: Source) -> PulledSource | None:
    """Return what was pulled of `source`, or None; raises `SourceError` where its folder is damaged."""
    folder = root / source.key
    if not folder.exists():
        return None
    path = folder / ABOUT
    try:
        about = json.loads(path.read_bytes())
        return PulledSource(
            folder=folder,
            by=str(about["by"]),
            recordings={str(api): int(count) for api, count in about["recordings"].items()},
            left={str(why): int(count) for why, count in about["left"].items()},
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        words = f"not what `conform corpus pull` wrote; `conform corpus drop {source.name}` takes it away"
        raise SourceError((Problem(str(path), None, words),)) from error


def format_about(source: Source, found: PulledSource) -> str:
    """Return the text of `source.json`."""
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
    """Return the folder of recordings of `source`; raises `UsageError` where it was not pulled."""
    found = read_pulled(root, source)
    if found is None:
        raise UsageError(
            f"`{source.name}` was not pulled to `{root}`: `conform corpus pull {source.name}` does it; "
            f"a folder of that name is `./{source.name}`"
        )
    return found.folder


def drop(root: Path, source: Source) -> bool:
    """Take the folder of `source` away, and what killed pulls left of it; return whether there was any."""
    there = [each for each in (root / source.key, *root.glob(f".{source.key}.*")) if each.exists()]
    for each in there:
        shutil.rmtree(each)
    return bool(there)
