"""The config file: the nearest `conform.toml`, or `pyproject.toml` with `[tool.conform]`.

Every key except `build` and `build_timeout` is also a command-line option of the same name, which takes
precedence.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, get_args

from streamconform.adapters.build import BUILD_SECONDS, Build
from streamconform.adapters.program import START_SECONDS
from streamconform.errors import Problem, SourceError, UsageError
from streamconform.files import read_regular
from streamconform.model.case import LEVELS
from streamconform.model.trial import DELIVERY_SETS, FaultSet, Input
from streamconform.suite.selection import SelectionSettings


def _is_text_or_list(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(item, str) for item in value)
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    # `bool` is a subclass of `int`, but `workers = true` in TOML is a mistake.
    return type(value) is int and value >= 0


def _is_duration(value: Any) -> bool:
    return type(value) in (int, float) and value > 0


KEYS: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "impl": (_is_text_or_list, "a string or a list of strings"),
    "build": (_is_text, "a command"),
    "build_timeout": (_is_duration, "a number of seconds"),
    "api": (_is_text_or_list, "a string or a list of strings"),
    "profile": (_is_text, "the name of a profile"),
    "level": (_is_text, "must, should or may"),
    "deliver": (_is_text, "fast, standard or full"),
    "faults": (_is_text, "none, one or all"),
    "select": (_is_text_or_list, "a pattern or a list of patterns"),
    "input": (_is_text, "bytes, push or http"),
    "known_failures": (_is_text_or_list, "a file or a folder, or a list of them"),
    "report": (_is_text_or_list, "KIND=PATH or a list of them"),
    "workers": (_is_count, "a non-negative integer"),
    "timeout": (_is_duration, "a number of seconds"),
    "start_timeout": (_is_duration, "a number of seconds"),
    "seed": (_is_count, "a non-negative integer"),
    "strict": (lambda value: isinstance(value, bool), "true or false"),
    "allow": (_is_text_or_list, "a fingerprint or a JSON field, or a list of them"),
    "specs": (_is_text, "a folder"),
    "cassettes": (_is_text, "a folder"),
}
"""Every key, with a check for its value and a description of the expected value."""

CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "deliver": tuple(DELIVERY_SETS),
    "faults": get_args(FaultSet),
    "level": LEVELS,
    "input": get_args(Input),
}
"""Allowed values for settings. click checks options; `read_settings` checks the config file."""


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """The settings of the config file, overridden by those of a command; each key is explained there."""

    selection: SelectionSettings = field(default_factory=SelectionSettings)
    impl: tuple[str, ...] = ()
    build: Build | None = None
    known_failures: tuple[str, ...] = ()
    report: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    workers: int | None = None
    timeout: float | None = None
    """Seconds per trial; None selects the command's default."""
    start_timeout: float = START_SECONDS
    """Seconds until the greeting."""
    strict: bool = False


def read_settings(arguments: Mapping[str, Any]) -> ProjectSettings:
    """Return the settings of the config file, overridden by `arguments`, a command's options.

    Names that are no setting are ignored. Raises `SourceError` for a wrong file, and `UsageError`.
    """
    values = load_settings(Path.cwd())
    build = _make_build(values)
    if arguments.get("profile"):
        # A profile has its own deliveries and faults, so those in the config file do not apply.
        values = {key: value for key, value in values.items() if key not in ("deliver", "faults")}
    # click passes None or () for an option that was not given; the config file's value applies.
    values |= {key: value for key, value in arguments.items() if value not in (None, ())}
    for key, choices in CHOICES.items():
        if values.get(key, choices[0]) not in choices:
            raise UsageError(f"`{key}` is `{values[key]}`; expected one of {', '.join(choices)}")
    return ProjectSettings(
        selection=SelectionSettings.from_values(values),
        impl=tuple(values.get("impl", ())),
        build=build,
        known_failures=tuple(values.get("known_failures", ())),
        report=tuple(values.get("report", ())),
        allow=tuple(values.get("allow", ())),
        workers=values.get("workers"),
        timeout=float(values["timeout"]) if "timeout" in values else None,
        start_timeout=float(values.get("start_timeout", START_SECONDS)),
        strict=bool(values.get("strict", False)),
    )


def _make_build(values: Mapping[str, Any]) -> Build | None:
    if "build" not in values:
        return None
    seconds = float(values.get("build_timeout", BUILD_SECONDS))
    return Build(values["build"], frozenset(values.get("impl", ())), seconds)


def find_config(folder: Path) -> tuple[Path, Mapping[str, Any]] | None:
    """Search upwards from `folder` for a config file; return its path and settings, or None."""
    for parent in (folder, *folder.parents):
        for name in ("conform.toml", "pyproject.toml"):
            path = parent / name
            if not path.is_file():
                continue
            try:
                document = tomllib.loads(read_regular(path).decode())
            except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
                raise SourceError((Problem(str(path), None, f"not TOML: {error}"),)) from error
            except OSError as error:
                raise SourceError((Problem(str(path), None, f"cannot be read: {error.strerror}"),)) from error
            section = document if name == "conform.toml" else document.get("tool", {}).get("conform")
            if section is not None:
                return path, section
    return None


def load_settings(folder: Path) -> dict[str, Any]:
    """Return the settings from the nearest config file, with relative paths resolved against its folder.

    Raises a `SourceError` that lists every unknown key and every value of the wrong type.
    """
    config = find_config(folder)
    if config is None:
        return {}
    path, section = config
    problems = []
    settings: dict[str, Any] = {}
    for key, value in section.items():
        if key not in KEYS:
            known = ", ".join(f"`{name}`" for name in KEYS)
            problems.append(
                Problem(str(path), _find_line(path, key), f"unknown key `{key}`; known keys: {known}")
            )
            continue
        is_valid, description = KEYS[key]
        if not is_valid(value):
            message = f"`{key}` is {value!r}; expected {description}"
            problems.append(Problem(str(path), _find_line(path, key), message))
        elif key in ("specs", "cassettes"):
            settings[key] = str(path.parent / value)
        elif key == "known_failures":
            names = [value] if isinstance(value, str) else value
            settings[key] = [str(path.parent / name) for name in names]
        elif key in ("impl", "api", "select", "report", "allow") and isinstance(value, str):
            settings[key] = [value]
        else:
            settings[key] = value
    if problems:
        raise SourceError(tuple(problems))
    return settings


def _find_line(path: Path, key: str) -> int | None:
    # tomllib keeps no positions, so the line is found by searching the text.
    for number, text in enumerate(read_regular(path).decode().splitlines(), start=1):
        if text.partition("=")[0].strip().strip('"') == key:
            return number
    return None
