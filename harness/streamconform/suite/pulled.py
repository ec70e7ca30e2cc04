"""Specs based on pulled recordings: their names, and the recordings in the user's cache.

`conform run --recorded --pull` stores a source in `<corpus>/<name>-<version>/`, which is laid out like
`cassettes/`. A spec contains the digest of each body, so it is never applied to other bytes.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from streamconform.errors import Problem, SourceError
from streamconform.model.cassette import Cassette, Pulled, Request
from streamconform.suite import cassettes

PREFIX: Final = "recorded-"
"""The topic prefix (and therefore file name prefix) reserved for specs about pulled recordings."""
NOT_PULLED: Final = "fetch the recording with `conform run --recorded --pull`"
"""The reason for skipping a case whose recording is not in the cache."""
_MENTION: Final = re.compile(rf"(^|/){PREFIX}")


def is_recorded(id_or_pattern: str) -> bool:
    """Return whether an id belongs to a pulled recording, or whether a pattern names such ids explicitly."""
    return _MENTION.search(id_or_pattern) is not None


def make_topic(source: str) -> str:
    """Return the topic of the specs based on the recordings of `source`."""
    return PREFIX + re.sub(r"[^a-z0-9]+", "-", source)


def load_pulled(corpus: Path, api: str, name: str, origin: Pulled, sha256: str) -> Cassette | None:
    """Return the recording `name` from a source, or None if the source was not pulled.

    Raises `SourceError` if the recording is missing, damaged, or does not have the digest `sha256`.
    """
    source, _, version = origin.source.partition(" ")
    folder = corpus / f"{source}-{version}"
    # A source that was not pulled is not an error, but a pulled source without the recording is.
    if not folder.is_dir():
        return None
    again = f"delete `{folder}`, then use `conform run --recorded --pull`"
    if not (folder / api / f"{name}.yaml").is_file():
        raise SourceError((Problem(str(folder), None, f"no recording `{api}/{name}`; {again}"),))
    cassette = cassettes.load(folder, api, name)
    if cassette.sha256 != sha256:
        message = f"not the recording that was reviewed: its SHA-256 is {cassette.sha256}, expected {sha256}"
        raise SourceError((Problem(str(folder / api / f"{name}.yaml"), None, f"{message}; {again}"),))
    # A cassette file cannot say `pulled`, so the provenance comes from the spec.
    return dataclasses.replace(cassette, provenance=origin)


def make_placeholder(api: str, name: str, origin: Pulled) -> Cassette:
    """Return a recording without bytes, for a case skipped because its source was not pulled."""
    return Cassette(
        api=api,
        name=name,
        request=Request(method="POST", path="/", headers={}, body={}),
        status=200,
        headers={},
        body=b"",
        suffix="sse",
        marks=(),
        provenance=origin,
    )


def parse_origin(source: Mapping[str, str], entry: Mapping[str, Any]) -> Pulled:
    """Return the provenance given by a spec and one of its cases."""
    return Pulled(f"{source['name']} {source['version']}", entry["file"], entry["entry"])
