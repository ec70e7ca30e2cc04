"""The pytest plugin's options and entry points.

pytest loads this module in every run of every project that has streamconform installed. So it imports only
pytest, and does nothing unless `--conform-impl` or one of our node ids is used.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from streamconform.pytest import ROOT


class Option(NamedTuple):
    """A `conform run` setting, available as a command-line option and as a key in pytest's ini file."""

    key: str
    repeatable: bool
    metavar: str
    help: str


OPTIONS: Final = (
    Option(
        "impl",
        True,
        "IMPL",
        "Judge this implementation, with one test item per trial; same forms as in `conform run --impl`.",
    ),
    Option("api", True, "API", "Only this API."),
    Option(
        "deliver",
        False,
        "SET",
        "Which deliveries of each stream to run: fast, standard (default), full or variants.",
    ),
    Option("faults", False, "SET", "Which faults to apply to each stream: none, one or all."),
    Option("profile", False, "NAME", "Run only a profile's cases."),
    Option("known_failures", True, "PATH", "Known-failures file; the trials it lists become strict xfails."),
    Option("select", True, "PATTERN", "Only trials that match: a glob for ids or a substring. -k works too."),
    Option("input", False, "MODE", "Input mode of implementations: bytes, push or http."),
)
"""`conform run --help` explains them in full; settings omitted here come from [tool.conform]."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add each option, along with an ini key of the same name."""
    group = parser.getgroup("conform", "streamconform: conformance tests for parsers of streamed LLM answers")
    for key, repeatable, metavar, help_text in OPTIONS:
        group.addoption(
            f"--conform-{key.replace('_', '-')}",
            action="append" if repeatable else "store",
            metavar=metavar,
            default=None,
            help=help_text + (" Repeatable." if repeatable else ""),
        )
        ini_key = f"conform_{key}"
        if repeatable:
            parser.addini(ini_key, help_text, type="linelist", default=[])
        else:
            parser.addini(ini_key, help_text, type="string", default=None)
    group.addoption(
        "--conform-in-process",
        action="store_true",
        help="Call Python adapters in pytest's process, where breakpoint() works; --pdb implies it.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the hooks if an implementation or one of our node ids is given. Raises `pytest.UsageError`."""
    config.addinivalue_line("markers", "conform: a trial of streamconform")
    node_ids = [argument for argument in config.args if argument.startswith(f"{ROOT}::")]
    arguments = {option.key: _read_option(config, option) for option in OPTIONS}
    if not (node_ids or arguments["impl"]):
        return
    # pytest would look for files with these names.
    config.args[:] = [argument for argument in config.args if argument not in node_ids]
    from streamconform.pytest.items import ConformHooks
    from streamconform.pytest.session import TrialSession

    arguments = {key: value for key, value in arguments.items() if value}
    session = TrialSession(config, arguments, tuple(node_ids))
    config.pluginmanager.register(ConformHooks(session), "conform-trials")


def _read_option(config: pytest.Config, option: Option) -> Any:
    """Return the option's value from the command line, or else from the ini file, with absolute paths."""
    value = config.getoption(f"conform_{option.key}")
    if value:
        return tuple(value) if option.repeatable else value
    value = config.getini(f"conform_{option.key}")
    if option.key == "known_failures":
        folder = config.inipath.parent if config.inipath else Path.cwd()
        return tuple(str(folder / path) for path in value)
    return tuple(value) if option.repeatable else value
