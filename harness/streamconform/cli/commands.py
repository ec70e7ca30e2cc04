"""Command-line classes: groups and choices that suggest similar names, and help in sections."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Final

import click

from streamconform.suggestions import suggest

REST: Final = "Other options"


class Group(click.Group):
    """A group that suggests the closest commands if the name is unknown."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the name, the command and its arguments; exit with code 2 if the command is unknown."""
        name = args[0]
        # A word that looks like an option is left to click, which reports it as an unknown option.
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            ctx.fail(f"no command `{name}`{suggest(name, self.list_commands(ctx)) or '; see --help'}")
        return super().resolve_command(ctx, args)


class LazyGroup(Group):
    """A group that imports a command's module, `PACKAGE.NAME`, only when the command is called."""

    def __init__(self, *args: Any, summaries: Mapping[str, str], package: str, **settings: Any) -> None:
        """Accept the arguments of `click.Group`, the commands with their summaries, and their package."""
        super().__init__(*args, **settings)
        self.summaries = summaries
        self.package = package

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in table order."""
        del ctx
        return [*self.summaries]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with this name, or None if there is none."""
        del ctx
        if cmd_name not in self.summaries:
            return None
        command: click.Command = importlib.import_module(
            f"{self.package}.{cmd_name.replace('-', '_')}"
        ).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table; this needs no imports."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([*self.summaries.items()])


class Choice(click.Choice[str]):
    """A choice whose error message suggests the closest values."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Return the error message for a value that is not one of the choices."""
        known = [str(choice) for choice in self.choices]
        return f"{super().get_invalid_choice_message(value, ctx).rstrip('.')}{suggest(str(value), known)}"


class ProgramCommand(click.Command):
    """A command that treats everything after `--` as a program instead of parsing it as click does."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Store the words after `--` and parse the others."""
        if "--" in args:
            position = args.index("--")
            ctx.meta[__name__] = tuple(args[position + 1 :])
            args = args[:position]
        return super().parse_args(ctx, args)


def get_program(ctx: click.Context) -> tuple[str, ...]:
    """Return the words after `--`."""
    program: tuple[str, ...] = ctx.meta.get(__name__, ())
    return program


class SectionedCommand(click.Command):
    """A command whose help lists its options in sections; `sections` maps titles to parameter names."""

    def __init__(self, *args: Any, sections: Mapping[str, tuple[str, ...]], **settings: Any) -> None:
        """Accept the arguments of `click.Command`, and the sections in display order."""
        super().__init__(*args, **settings)
        self.sections = sections

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by section; options without a section come last."""
        rows: dict[str, list[tuple[str, str]]] = {title: [] for title in (*self.sections, REST)}
        titles = {name: title for title, names in self.sections.items() for name in names}
        for parameter in self.get_params(ctx):
            row = parameter.get_help_record(ctx)
            if row is not None and isinstance(parameter, click.Option):
                rows[titles.get(parameter.name or "", REST)].append(row)
        for title, members in rows.items():
            if members:
                with formatter.section(title):
                    formatter.write_dl(members)
