"""`conform dev`: the commands of the maintainers. A command's module is imported when it is called."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Final

import click
from streamconform.cli.commands import Group

COMMANDS: Final[Mapping[str, str]] = {
    "selftest": "Test the suite itself with broken parsers.",
    "finding": "Write a finding about a library as an issue for its tracker.",
    "history": "Find the releases that introduced and fixed the findings about a library.",
    "outdated": "List the libraries whose pinned release is not the newest one.",
}
"""Every command, with its summary for `--help`; each has its own module, which defines `command`."""


class Commands(Group):
    """A group that imports a command's module only when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in table order."""
        del ctx
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with this name, or None if there is none."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"{__name__}.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])


@click.group("dev", cls=Commands)
def command() -> None:
    """Maintain the suite and its peers; these commands exist only in a checkout."""
