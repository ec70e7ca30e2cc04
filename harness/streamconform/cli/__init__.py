"""The command line: `conform COMMAND`. A command's module is imported when the command is called."""

from __future__ import annotations

import errno
import gc
import importlib
import os
import sys
import traceback
from io import TextIOWrapper
from typing import Any, Final

import click

from streamconform._version import __version__
from streamconform.cli.commands import Group
from streamconform.cli.verbs import HEADINGS, find_verb, load_verbs
from streamconform.errors import ConformError
from streamconform.printable import escape_lines

__all__ = ["conform", "main"]

MEDIUM_ERRORS: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO})
"""Errors from the disk or from the device behind stdout, which are never bugs in streamconform."""


OUTPUT_CLOSED: Final = 141
"""The exit code of a command whose output was closed, for example by `head`: 128 + SIGPIPE, as in other
tools.
"""


class OutputClosed(Exception):
    """The program that reads our stdout has closed it."""


class Verbs(Group):
    """A group that imports a command's module only when the command is called."""

    def invoke(self, ctx: click.Context) -> Any:
        """Invoke a command. Raises `OutputClosed`."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            # click would turn it into exit code 1, which means new failures.
            raise OutputClosed from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in table order."""
        del ctx
        return [verb.name for verb in load_verbs().values() if verb.is_listed]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with this name, or None if there is none."""
        del ctx
        verb = find_verb(cmd_name)
        if verb is None:
            return None
        gc.disable()  # an import makes thousands of objects, and no garbage
        try:
            command: click.Command = importlib.import_module(verb.module).command
        finally:
            gc.enable()
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by heading; no command is imported, which keeps `--help` fast."""
        del ctx
        verbs = load_verbs().values()
        for heading in HEADINGS:
            rows = [(verb.name, verb.summary) for verb in verbs if verb.heading == heading and verb.is_listed]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 no new failures, 1 new failures, 2 usage or input error, "
    "3 implementation unusable, 4 bug in streamconform, 5 nothing ran, 130 interrupted.",
)
@click.version_option(__version__, prog_name="streamconform")
def conform() -> None:
    """Judge any parser of streamed LLM answers against recorded streams.

    \b
    conform run                          the bundled reference parser, every case
    conform run --impl mypkg             your package: mypkg.conform:adapter
    conform run -- ./my-parser --flag    your program, in any language
    """


def main() -> None:
    """Run the command line and exit; a user's mistake produces a message, never a traceback."""
    if sys.stdout is None:  # Python's value for a file descriptor that is closed
        click.echo("error: stdout is closed; redirect it to a file, or to /dev/null", err=True)
        sys.exit(2)
    code = _run_command()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_stdout()  # the reader has gone, such as `head`
    except OSError as error:
        code = _report_os_error(error)
    # Otherwise Python would search everything for garbage when it exits, which takes longer than one trial.
    gc.freeze()
    sys.exit(code)


def _run_command() -> int:
    """Run the command line and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # an implementation may answer with lone surrogates
    try:
        # Otherwise click would exit with its own codes, which have other meanings here.
        code = conform.main(standalone_mode=False)
    except click.exceptions.Abort:
        code = 130
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except ConformError as error:
        from streamconform.secrets.scan import redact

        message = escape_lines(redact(str(error)))  # it may quote a server's answer or a file
        click.echo(message if "\n" in message else f"error: {message}", err=True)
        code = error.exit_code
    except KeyboardInterrupt:
        code = 130
    except OutputClosed:
        _discard_stdout()
        code = OUTPUT_CLOSED
    except Exception as error:  # noqa: BLE001 - anything else is a bug of ours, and the user should be told so
        if isinstance(error, OSError) and error.errno in MEDIUM_ERRORS:
            return _report_os_error(error)
        traceback.print_exc()
        click.echo(
            "\nThis is a bug in streamconform, not in the implementation; please report it with the text"
            " above.",
            err=True,
        )
        code = 4
    # In this mode, click returns the code given to `ctx.exit`, or else the command's own return value, None.
    return code if isinstance(code, int) else 0


def _report_os_error(error: OSError) -> int:
    """Print one line about a file or stream that cannot be written, and return the exit code."""
    if not error.filename:
        _discard_stdout()  # the buffered text would fail again, and be reported again
    name = f"`{error.filename}`" if error.filename else "the output"
    click.echo(f"error: {name} cannot be written: {error.strerror}", err=True)
    return 2


def _discard_stdout() -> None:
    """Redirect stdout to the null device, so that Python's own flush at exit does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
