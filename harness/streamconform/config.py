"""The config file: `conform.toml`, or `[tool.conform]` in `pyproject.toml`, nearest to the current folder.

Every key is also an option of the same name, and the command line wins.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from streamconform.errors import Problem, SourceError


def _words(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(each, str) for each in value)
    )


def _word(value: Any) -> bool:
    return isinstance(value, str)


def _whole(value: Any) -> bool:
    return type(value) is int and value >= 0


def _number(value: Any) -> bool:
    return type(value) in (int, float) and value > 0


KEYS: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "impl": (_words, "a word or a list of words"),
    "api": (_words, "a word or a list of words"),
    "profile": (_word, "the name of a profile"),
    "level": (_word, "must, should or may"),
    "deliver": (_word, "fast, standard or full"),
    "faults": (_word, "none, one or all"),
    "select": (_words, "a pattern or a list of patterns"),
    "input": (_word, "bytes, push or http"),
    "known_failures": (_words, "a file or a folder, or a list of them"),
    "report": (_words, "KIND=PATH or a list of them"),
    "workers": (_whole, "a whole number"),
    "timeout": (_number, "seconds"),
    "seed": (_whole, "a whole number"),
    "strict": (lambda value: isinstance(value, bool), "true or false"),
    "specs": (_word, "a folder"),
    "cassettes": (_word, "a folder"),
}
"""The keys, and what each may hold."""


def find(folder: Path) -> tuple[Path, Mapping[str, Any]] | None:
    """Return the config file nearest to `folder`, upwards, and its mapping; None where there is none."""
    for place in (folder, *folder.parents):
        for name in ("conform.toml", "pyproject.toml"):
            path = place / name
            if not path.is_file():
                continue
            try:
                loaded = tomllib.loads(path.read_text("utf-8"))
            except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
                raise SourceError((Problem(str(path), None, f"not TOML: {error}"),)) from error
            section = loaded if name == "conform.toml" else loaded.get("tool", {}).get("conform")
            if section is not None:
                return path, section
    return None


def load(folder: Path) -> dict[str, Any]:
    """Return the settings of the nearest config file, paths relative to it made absolute.

    Raises `SourceError` with every unknown key and every value of the wrong kind.
    """
    found = find(folder)
    if found is None:
        return {}
    path, section = found
    problems = []
    settings: dict[str, Any] = {}
    for key, value in section.items():
        if key not in KEYS:
            words = f"unknown key `{key}`; known are {', '.join(f'`{each}`' for each in KEYS)}"
            problems.append(Problem(str(path), _line(path, key), words))
            continue
        fits, wanted = KEYS[key]
        if not fits(value):
            problems.append(
                Problem(str(path), _line(path, key), f"`{key}` holds {value!r}; expected {wanted}")
            )
        elif key in ("specs", "cassettes"):
            settings[key] = str(path.parent / value)
        elif key == "known_failures":
            named = [value] if isinstance(value, str) else value
            settings[key] = [str(path.parent / each) for each in named]
        elif key in ("impl", "api", "select", "report") and isinstance(value, str):
            settings[key] = [value]
        else:
            settings[key] = value
    if problems:
        raise SourceError(tuple(problems))
    return settings


def _line(path: Path, key: str) -> int | None:
    for number, text in enumerate(path.read_text("utf-8").splitlines(), start=1):
        if text.partition("=")[0].strip().strip('"') == key:
            return number
    return None
