"""Download and verify a source, and import its recordings into the cache, completely or not at all.

An answer that does not stream has a name of its own, so that the names of streams, which cases use, do not
depend on it.
"""

from __future__ import annotations

import dataclasses
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from itertools import chain, count
from pathlib import Path, PurePosixPath
from typing import Final

from msgspec import structs

from streamconform import user_cache
from streamconform._version import __version__
from streamconform.conservation import Balance, require_balance
from streamconform.errors import SourceError
from streamconform.model.cassette import Cassette, Derived
from streamconform.suite import cassettes
from streamconform.suite.documents import is_document
from streamconform_capture import importers
from streamconform_capture.corpus import archive, cache
from streamconform_capture.corpus.download import PullFailed, download
from streamconform_capture.corpus.sources import Source
from streamconform_capture.importers.exchange import make_slug

CASSETTES: Final = "cassettes"
"""Folder names that are omitted from a recording's name because they carry no information."""
SAME_BYTES: Final = "the same bytes as another recording of the source"
NOT_ASKED: Final = "an error document for a non-streaming request"
# Some APIs select streaming by the path, so their requests have no `stream` member.
STREAMS_BY_PATH: Final = re.compile(r"(:stream\w+|/converse-stream|/invoke-with-response-stream)(\?|$)")
NAME_MAX: Final = 72
"""Maximum length of a recording's name, excluding its number."""
AT_ONCE: Final = "-at-once"
"""The end of the name of an answer that does not stream."""

Progress = Callable[[int, int], None]
"""Called with the number of files read and the total."""


def pull(root: Path, source: Source, progress: Progress) -> cache.PulledSource:
    """Fetch `source`, import its recordings into the cache under `root`, and return the summary.

    The work is done in a temporary folder, which is renamed at the end, so an interrupted pull leaves nothing
    behind. Raises `PullFailed`, and `SourceError` for an archive that cannot be read.
    """
    place = root / source.key
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{source.key}.", dir=root) as work:
            made = Path(work) / "made"
            made.mkdir()
            members = archive.read(download(source, Path(work)), source.select)
            found = dataclasses.replace(_import_members(source, members, made, progress), folder=place)
            (made / cache.ABOUT).write_text(cache.format_about(source, found), "utf-8")
            if not place.exists():  # another process may have pulled it in the meantime
                made.replace(place)
    except OSError as error:
        raise PullFailed(
            f"`{source.name}` cannot be written to `{root}`: {error.strerror or error}; "
            f"choose another folder with `--cache` or `{user_cache.VARIABLE}`"
        ) from error
    return found


def _import_members(
    source: Source, members: Sequence[archive.Member], folder: Path, progress: Progress
) -> cache.PulledSource:
    """Write the recordings in `members` to `folder`."""
    recordings: Counter[str] = Counter()
    left: Counter[str] = Counter()
    names: set[tuple[str, str]] = set()
    seen: set[tuple[str, int, str]] = set()
    exchanges = 0
    for number, member in enumerate(members):
        progress(number, len(members))
        count, results = _import_member(source, member)
        exchanges += count
        for each in results:
            if isinstance(each, str):
                left[each] += 1
                continue
            key = (each.api, each.status, each.sha256)
            if key in seen:
                left[SAME_BYTES] += 1
                continue
            seen.add(key)
            name = _make_unique_name(each, names)
            names.add((each.api, name))
            cassettes.save(folder, dataclasses.replace(each, name=name))
            recordings[each.api] += 1
    progress(len(members), len(members))
    outcomes = {"imported": recordings.total(), "not imported": left.total()}
    require_balance(Balance("exchange", "read", exchanges, outcomes))
    if not recordings:
        raise PullFailed(f"no recordings in {source.distribution} {source.version}: {dict(left)}")
    return cache.PulledSource(
        folder=folder,
        by=__version__,
        recordings=dict(sorted(recordings.items())),
        left=dict(left.most_common()),
    )


def _import_member(source: Source, member: archive.Member) -> tuple[int, list[Cassette | str]]:
    """Return the number of exchanges in a file, the answers, and a reason for each other exchange.

    A file that cannot be read counts as one exchange.
    """
    if member.data is None:
        return 1, [member.why or "not read"]
    try:
        taken = importers.import_file(Path(member.path.name), member.data, None, "recording", documents=True)
    except SourceError as error:
        return 1, [_generalise_reason(error.problems[0].message)]
    results: list[Cassette | str] = [_generalise_reason(each.why) for each in taken.skipped]
    for cassette in taken.cassettes:
        # An error document is the same with and without streaming.
        if cassette.status >= 400 and not _asked_for_a_stream(cassette):
            results.append(NOT_ASKED)
            continue
        name = _make_name(member.path, AT_ONCE if is_document(cassette) else "")
        origin = _describe_origin(source, member.path, cassette)
        results.append(dataclasses.replace(cassette, name=name, provenance=origin))
    return taken.count, results


def _asked_for_a_stream(cassette: Cassette) -> bool:
    body = cassette.request.body
    return body.get("stream") is True or STREAMS_BY_PATH.search(cassette.request.path) is not None


def _make_name(path: PurePosixPath, ending: str) -> str:
    """Return a name with this ending, derived from the recording's path in the archive."""
    # The first folder is left out below, because it is the same for all recordings of a source.
    parts = [each for each in path.with_suffix("").parts if each != CASSETTES]
    whole = "-".join(make_slug(part) for part in parts[1:] or parts)
    longest = NAME_MAX - len(ending)
    if len(whole) <= longest:
        return whole + ending
    # The end names the recording; the beginning only names folders.
    end = whole[-longest:]
    return (end.partition("-")[2] or end) + ending  # drop the word that was cut


def _make_unique_name(cassette: Cassette, names: Collection[tuple[str, str]]) -> str:
    """Return the cassette's name, with a number appended if the name is taken."""
    numbered = (f"{cassette.name}-{number}" for number in count(2))
    return next(each for each in chain((cassette.name,), numbered) if (cassette.api, each) not in names)


def _describe_origin(source: Source, path: PurePosixPath, cassette: Cassette) -> Derived:
    given = cassette.provenance
    assert isinstance(given, Derived), "the importers derive"
    where = f"{source.distribution} {source.version}, {path.parent}/{given.source}"
    return structs.replace(given, source=where)


def _generalise_reason(why: str) -> str:
    """Return a reason without its details, so that similar reasons are counted together."""
    return why.partition(": ")[0]
