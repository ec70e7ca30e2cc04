"""Keep what was parsed: the documents of specs and cassettes, in one file that a run starts from.

YAML stays the source. Every file is still read, and what was parsed is found by the digest of its bytes, so a
file that was changed is always seen. The kept file itself begins with a digest of the code that parses and of
the content: after a change of the code, or any damage, everything is parsed again. It holds only JSON.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from streamconform.errors import Problem, SourceError
from streamconform.files import read_regular, write_atomically
from streamconform.resources import find_bundled
from streamconform.schemas import check_document
from streamconform.user_cache import find_user_cache
from streamconform.yaml_text import reader

NAME: Final = "suite.json"
"""The name of the kept file next to the folder of specs, where the wheel has one."""
FOLDER: Final = "suites"
"""The name of the subfolder of the user's cache for the kept files of checkouts."""
MIN_FILES: Final = 8
"""The number of specs that takes longer to parse than the kept file takes to read."""
_MAX_BYTES: Final = 256 * 1024 * 1024
_DIGEST_SIZE: Final = 32
_PARSERS: Final = ("model", "yaml_text", "wire", "apis", "schemas", "delivery", "suite")
"""The packages whose code determines what is kept."""


class CheckedDocument(msgspec.Struct, frozen=True):
    """A YAML file that matches its schema."""

    path: str
    data: bytes
    key: str
    """A digest of the schema's name and of `data`."""
    value: Any
    case_lines: tuple[int, ...] = ()
    """The line of each case in a spec."""

    def line(self, value_path: reader.ValuePath) -> int | None:
        """Return the line number of `value_path`, or of its nearest ancestor that has one."""
        # Only messages need other lines than those of cases, so the lines are not kept.
        return reader.parse(self.data, self.path).line(value_path)

    def problem(self, value_path: reader.ValuePath, message: str) -> Problem:
        """Return a problem with `message` at `value_path`'s line."""
        return Problem(self.path, self.line(value_path), message)


class _Entry(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a document."""

    value: Any
    case_lines: tuple[int, ...]


Entries = dict[str, msgspec.Raw]
"""Documents and names of trials, by a digest of all that determines them."""
T = TypeVar("T")


ReadChecked = Callable[[Path, str], CheckedDocument]
"""Returns the document in a file that matches a schema, given by its name."""


class Compiled:
    """The documents that were parsed before, and those that this process parsed."""

    def __init__(self, kept: Entries, path: Path) -> None:
        """Accept what was parsed before, and where to keep it."""
        self._kept, self._path = kept, path
        self._used: Entries = {}

    def read(self, path: Path, schema: str) -> CheckedDocument:
        """Return the document in `path`. Raises a `SourceError` with everything wrong with it."""
        data = reader.read_file(path, str(path))
        key = _compute_key(data, schema)
        entry = self._find(key, _Entry)
        if entry is not None:
            return CheckedDocument(str(path), data, key, entry.value, entry.case_lines)
        document = check(data, str(path), schema)
        self._add(key, _Entry(document.value, document.case_lines))
        return document

    def remember(self, key: str, type_: type[T], make: Callable[[], T]) -> T:
        """Return what `make` returns, or returned in an earlier process for the same key."""
        value = self._find(key, type_)
        if value is None:
            value = make()
            self._add(key, value)
        return value

    def _find(self, key: str, type_: type[T]) -> T | None:
        raw = self._used.get(key) or self._kept.get(key)
        if raw is None:
            return None
        self._used[key] = raw
        return msgspec.json.decode(raw, type=type_)

    def _add(self, key: str, entry: object) -> None:
        self._used[key] = msgspec.Raw(msgspec.json.encode(entry))

    def keep(self, *, only_used: bool = False) -> None:
        """Keep what this process made, if anything, and unless `only_used`, everything that was kept."""
        if self._used.keys() <= self._kept.keys():
            return
        self._kept = dict(self._used) if only_used else self._kept | self._used
        with suppress(OSError):  # without it, the next run parses again
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self.write()

    def write(self) -> None:
        """Write everything that is kept. Raises `OSError`."""
        content = msgspec.json.encode(self._kept, order="sorted")
        write_atomically(self._path, _compute_digest(content) + content)


def open_compiled(specs: Path, files: Sequence[Path]) -> Compiled | None:
    """Return what is kept of the bundled suite, or None if parsing `files` takes less time than reading it.

    Other suites are not kept, because their files would stay in the cache forever.
    """
    if len(files) < MIN_FILES or specs != find_bundled("specs"):
        return None
    name = hashlib.sha256(str(specs).encode()).hexdigest()[:16]
    path = find_user_cache(None) / FOLDER / f"{name}.json"
    return Compiled(_read(specs.parent / NAME) or _read(path) or {}, path)


def read_checked(path: Path, schema: str) -> CheckedDocument:
    """Return the document in `path`, parsed now. Raises a `SourceError` like `Compiled.read`."""
    return check(reader.read_file(path, str(path)), str(path), schema)


def check(data: bytes, path: str, schema: str) -> CheckedDocument:
    """Return the document in `data`. Raises a `SourceError` with everything wrong by YAML or the schema."""
    document = reader.parse(data, path)
    if problems := check_document(schema, document):
        raise SourceError(problems)
    cases = document.value.get("cases", ())
    lines = tuple(document.line(("cases", i)) or 0 for i in range(len(cases)))
    return CheckedDocument(path, data, _compute_key(data, schema), document.value, lines)


def _compute_key(data: bytes, schema: str) -> str:
    return hashlib.sha256(schema.encode() + b"\0" + data).hexdigest()


def _read(path: Path) -> Entries | None:
    """Return the content of a kept file, or None if there is none that this code wrote."""
    try:
        data = read_regular(path, _MAX_BYTES)
    except OSError:
        return None
    content = data[_DIGEST_SIZE:]
    if data[:_DIGEST_SIZE] != _compute_digest(content):
        return None
    return msgspec.json.decode(content, type=Entries)


def _compute_digest(content: bytes) -> bytes:
    return hashlib.sha256(_compute_code_digest() + content).digest()


@cache
def _compute_code_digest() -> bytes:
    """Return a digest of the code and the schemas that determine what is kept."""
    digest = hashlib.sha256()
    root = Path(__file__).parents[1]
    for package in _PARSERS:
        for path in sorted((root / package).rglob("*")):
            if path.suffix in (".py", ".json"):
                data = read_regular(path)
                digest.update(f"{path.relative_to(root)} {len(data)}\n".encode() + data)
    return digest.digest()
