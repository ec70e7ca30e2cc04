"""`--impl` to the program that is started for it: the table of forms."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from streamconform.errors import UsageError

HOST: Final = (sys.executable, "-m", "streamconform.adapters.host")
"""The program that hosts a Python callable; what names that stands behind it."""
PROXIED: Final = "streamconform.tools.probe.proxy_program"
"""The program that stands on both sides of a proxy."""


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach an implementation: the program to start, and how it was asked for."""

    impl: str
    argv: tuple[str, ...]


def _peer(name: str) -> tuple[str, ...]:
    from streamconform.peers.environments import build_command

    return build_command(name)


def connect(impl: str) -> Connection:
    """Return the connection that `impl` means; raises `UsageError` for a form that does not exist."""
    kind, colon, rest = impl.partition(":")
    if not colon:
        return Connection(impl, _hosted(impl))
    form = FORMS.get(kind)
    if form is None:
        known = ", ".join(f"`{name}:`" for name in FORMS)
        raise UsageError(
            f"`--impl {impl}`: `{kind}:` is not a form; known are {known}, `reference` and a package's name"
        )
    if not rest.strip():
        raise UsageError(f"`--impl {impl}`: nothing stands behind the colon")
    return Connection(impl, form(rest))


def command(words: tuple[str, ...]) -> Connection:
    """Return the connection to a program given as words behind `--`."""
    return Connection(f"cmd:{shlex.join(words)}", words)


def target(connection: Connection) -> str | None:
    """Return what names the Python callable that `connection` hosts; None where it is another program."""
    return connection.argv[-1] if connection.argv[:-1] == HOST else None


def _hosted(target: str) -> tuple[str, ...]:
    """Return the program that hosts a Python callable: ours, in a process of its own."""
    return (*HOST, target)


def _command(line: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(line))
    except ValueError as error:
        raise UsageError(f"`--impl cmd:{line}`: {error}") from error


def _python(target: str) -> tuple[str, ...]:
    module, colon, name = target.partition(":")
    if not (module and colon and name):
        raise UsageError(f"`--impl python:{target}`: expected `python:package.module:name`")
    return _hosted(target)


def _mutant(name: str) -> tuple[str, ...]:
    return _hosted(f"streamconform_mutants:{name}")


def _proxy(address: str) -> tuple[str, ...]:
    from streamconform.adapters import proxy_address

    proxy_address.read(address)
    return (sys.executable, "-m", PROXIED, address)


FORMS: Final[Mapping[str, Callable[[str], tuple[str, ...]]]] = {
    "python": _python,
    "cmd": _command,
    "mutant": _mutant,
    "peer": _peer,
    "proxy": _proxy,
}
"""What may stand before the colon, and what it starts."""
