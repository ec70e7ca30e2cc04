"""Map each form of an `--impl` value to the program to start."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from streamconform.adapters.forms import load_forms
from streamconform.errors import UsageError

if TYPE_CHECKING:
    from streamconform.adapters.proxy_address import ProxyAddress

HOST: Final = (sys.executable, "-m", "streamconform.adapters.host")
"""The command that hosts a Python callable; the callable's name is its last argument.

A Python adapter never runs in the harness process: this program speaks protocol v1, just as a parser in any
other language does. Hangs, `sys.exit`, crashes and `print` are therefore handled in one place, and our own
runs always exercise the protocol.
"""
BUNDLED: Final = {"reference": "streamconform_reference:adapter"}
"""The callables of names that no entry point has: to find one takes longer than a trial."""
PROXY_PROGRAM: Final = "streamconform_capture.probe.proxy_program"
"""The program that acts as the client and the upstream of a proxy under test."""
BROKEN: Final = ("mutant:", "plant:")
"""The forms of parsers with a bug. They are judged strictly: a mutant that only warns has been caught."""
_PROXY: Final = (sys.executable, "-m", PROXY_PROGRAM)


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach an implementation."""

    impl: str
    """The value of `--impl`."""
    argv: tuple[str, ...]
    """The program to start."""
    environment: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Variables to add to the program's environment, which may be secret; other users can read its argv."""


def connect(impl: str) -> Connection:
    """Return the connection for an `--impl` value. Raises `UsageError` for an unknown form."""
    kind, colon, rest = impl.partition(":")
    if not colon:
        return Connection(impl, _host_argv(BUNDLED.get(impl, impl)))
    form = FORMS.get(kind) or _find_form(kind)
    if form is None:
        known = ", ".join(f"`{name}:`" for name in list_words())
        raise UsageError(
            f"`--impl {impl}`: unknown form `{kind}:`; expected {known}, `reference` or a package name"
        )
    if not rest.strip():
        raise UsageError(f"`--impl {impl}`: a value is missing after the colon")
    return Connection(impl, form(rest))


def list_words() -> list[str]:
    """Return the words before the colon in alphabetical order."""
    return sorted({*FORMS, *load_forms()})


def _find_form(word: str) -> Callable[[str], tuple[str, ...]] | None:
    form = load_forms().get(word)
    return None if form is None else form.build_command


def connect_command(argv: tuple[str, ...]) -> Connection:
    """Return the connection to a program given as arguments after `--`."""
    return Connection(f"cmd:{shlex.join(argv)}", argv)


def get_python_target(connection: Connection) -> str | None:
    """Return the name of the Python callable that `connection` hosts, or None for any other program."""
    return connection.argv[-1] if connection.argv[:-1] == HOST else None


def get_proxy_address(connection: Connection) -> ProxyAddress | None:
    """Return the address of the proxy that `connection` reaches, or None for any other program."""
    from streamconform.adapters import proxy_address

    *command, address = connection.argv
    return proxy_address.parse_address(address) if tuple(command) == _PROXY else None


def _host_argv(target: str) -> tuple[str, ...]:
    """Return the command that hosts the Python callable `target` in a separate process."""
    return (*HOST, target)


def _split_command(line: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(line))
    except ValueError as error:
        raise UsageError(f"`--impl cmd:{line}`: {error}") from error


def _host_callable(target: str) -> tuple[str, ...]:
    module, colon, name = target.rpartition(":")
    if not (module and colon and name):
        expected = "`python:package.module:name` or `python:path/to/file.py:name`"
        raise UsageError(f"`--impl python:{target}`: expected {expected}")
    return _host_argv(target)


def _host_mutant(name: str) -> tuple[str, ...]:
    return _host_argv(f"streamconform_mutants:{name}")


def _host_plant(path: str) -> tuple[str, ...]:
    from streamconform.adapters.planted_file import check_planted_file

    check_planted_file(path)
    # The last colon of a target precedes its name, and a path may have one.
    return _host_argv(f"streamconform_mutants.plant:{path.replace('%', '%25').replace(':', '%3A')}")


def _proxy_argv(address: str) -> tuple[str, ...]:
    from streamconform.adapters import proxy_address

    proxy_address.parse_address(address)  # so that an invalid address is reported before a program starts
    return (*_PROXY, address)


FORMS: Final[Mapping[str, Callable[[str], tuple[str, ...]]]] = {
    "python": _host_callable,
    "cmd": _split_command,
    "mutant": _host_mutant,
    "plant": _host_plant,
    "proxy": _proxy_argv,
}
"""Maps the word before the colon to the function that returns the program to start; see also `forms`."""
