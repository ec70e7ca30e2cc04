"""Compile a program before it is started, so that compiling does not count as its start."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import IO, Final

from streamconform.errors import ImplementationError, UsageError
from streamconform.printable import escape_line
from streamconform.system import kill_group

BUILD_SECONDS: Final = 600.0
"""Default limit on a build: the first one of a project with many dependencies takes minutes."""
NOTICE_SECONDS = 3.0
"""A build that takes longer is announced, because nothing is printed before the run begins."""
SHOWN_LINES: Final = 20
"""The number of lines of a failed build's output to show: compilers print the errors last."""


@dataclass(frozen=True, slots=True)
class Build:
    """The command that compiles the implementations of the config file."""

    command: str
    impls: frozenset[str]
    """The implementations that it compiles."""
    seconds: float


def run_build(build: Build | None, impls: Iterable[str], note: Callable[[str], None]) -> None:
    """Run `build` if it compiles one of `impls`; a long one is announced with `note`.

    Raises `ImplementationError` if it fails, and `UsageError` for a command line that cannot be split.
    """
    if build is None or build.impls.isdisjoint(impls):
        return
    try:
        argv = shlex.split(build.command)
    except ValueError as error:
        raise UsageError(f"`build` is `{build.command}`: {error}") from error
    with tempfile.TemporaryFile() as output:
        try:
            problem = _wait(argv, output, build, note)
        except OSError as error:
            raise ImplementationError(f"`{build.command}` cannot be started: {error.strerror}") from error
        if problem:
            output.seek(0)
            lines = output.read().decode("utf-8", "replace").splitlines()[-SHOWN_LINES:]
            printed = "".join(f"\n  | {escape_line(line)}" for line in lines)
            end = ("; its output ends with:" if lines else "") + printed
            raise ImplementationError(f"the build `{build.command}` {problem}{end}")


def _wait(argv: list[str], output: IO[bytes], build: Build, note: Callable[[str], None]) -> str | None:
    """Return why the build failed, or None."""
    with subprocess.Popen(  # noqa: S603 - the user's own command
        argv, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
    ) as process:
        try:
            notice = min(NOTICE_SECONDS, build.seconds)
            try:
                code = process.wait(notice)
            except subprocess.TimeoutExpired:
                note(f"building: {build.command}")
                code = process.wait(build.seconds - notice)
        except BaseException as error:
            if not kill_group(process.pid):
                process.kill()
            if isinstance(error, subprocess.TimeoutExpired):
                return f"took longer than {build.seconds:g} s (`build_timeout`)"
            raise
    return f"exited with code {code}" if code else None
