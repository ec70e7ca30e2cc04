"""The plugin for pytest: `pytest --conform-impl mypkg` makes every trial an item.

pytest loads this in every run of every project that has streamconform installed. Nothing but pytest is
imported here, and nothing is done, until an implementation or a node id of ours is given.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

ROOT: Final = "conform"
"""What the node ids of our items begin with."""


class Option(NamedTuple):
    """A setting of `conform run` as an option of the command line, and as a key of pytest's ini file."""

    key: str
    many: bool
    metavar: str
    help: str


OPTIONS: Final = (
    Option(
        "impl", True, "IMPL", "Judge this implementation, each trial an item: as for `conform run --impl`."
    ),
    Option("api", True, "API", "Only this api."),
    Option(
        "deliver", False, "SET", "How many ways to hand over each stream: fast, standard (default) or full."
    ),
    Option("faults", False, "SET", "How many ways to break each stream: none, one or all."),
    Option("profile", False, "NAME", "Only the cases of a profile."),
    Option("known_failures", True, "PATH", "Failures that are known: items that xfail, strictly."),
    Option("select", True, "PATTERN", "Only trials that match: a glob on ids, or a word. -k works too."),
    Option("input", False, "MODE", "How implementations are fed: bytes, push or http."),
)
"""What each means says `conform run --help`; [tool.conform] holds for what is not given."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, and a key of the same name for each to the ini file."""
    group = parser.getgroup("conform", "streamconform: parsers of streamed LLM answers")
    for key, many, metavar, words in OPTIONS:
        group.addoption(
            f"--conform-{key.replace('_', '-')}",
            action="append" if many else "store",
            metavar=metavar,
            default=None,
            help=words + (" Repeatable." if many else ""),
        )
        name = f"conform_{key}"
        if many:
            parser.addini(name, words, type="linelist", default=[])
        else:
            parser.addini(name, words, type="string", default=None)
    group.addoption(
        "--conform-in-process",
        action="store_true",
        help="Call adapters in Python in this process, where breakpoint() works; --pdb does so too.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make items, if there is anything to make them of; raises `pytest.UsageError` for wrong settings."""
    config.addinivalue_line("markers", "conform: a trial of streamconform")
    asked = [each for each in config.args if each.startswith(f"{ROOT}::")]
    given = {option.key: _given(config, option) for option in OPTIONS}
    if not (asked or given["impl"]):
        return
    config.args[:] = [each for each in config.args if each not in asked]  # they are no files
    from streamconform.pytest.items import Conform
    from streamconform.pytest.session import Benches

    given = {key: value for key, value in given.items() if value}
    config.pluginmanager.register(Conform(Benches(config, given, tuple(asked))), "conform-trials")


def _given(config: pytest.Config, option: Option) -> Any:
    """Return what is given on the command line, else in the ini file, paths made absolute; else nothing."""
    value = config.getoption(f"conform_{option.key}")
    if value:
        return tuple(value) if option.many else value
    value = config.getini(f"conform_{option.key}")
    if option.key == "known_failures":
        home = config.inipath.parent if config.inipath else Path.cwd()
        return tuple(str(home / each) for each in value)
    return tuple(value) if option.many else value
