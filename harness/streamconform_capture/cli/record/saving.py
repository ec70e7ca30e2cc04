"""The options that all forms of `conform record` share: what is saved, and where."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from streamconform.config import read_settings
from streamconform.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])
SLUG: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class SaveSettings:
    """Where recordings are saved, what is replaced in them, and what their provenance says."""

    specs: Path
    folder: Path
    """The folder of cassettes."""
    topic: str
    scrubbed: tuple[str, ...]
    """Texts to replace everywhere."""
    allowed: tuple[str, ...]
    """Possible secrets to ignore."""
    server: str | None
    note: str | None


def save_options(command: F) -> F:
    """Add the options from which `read_save_settings` makes the settings."""
    folder = click.Path(file_okay=False)
    for option in reversed(
        (
            click.option(
                "--topic",
                default="recorded",
                show_default=True,
                help="Spec to which the draft case is added.",
            ),
            click.option(
                "--scrub",
                "scrubbed",
                multiple=True,
                metavar="TEXT",
                help="Replace this text everywhere. Repeatable.",
            ),
            click.option(
                "--allow",
                "allowed",
                multiple=True,
                metavar="FIELD|FINGERPRINT",
                help="Ignore a possible secret. Repeatable.",
            ),
            click.option(
                "--server",
                metavar="TEXT",
                help="Name and version of the server, for the provenance. [default: what it says itself]",
            ),
            click.option("--note", metavar="TEXT", help="A note for readers of the cassette."),
            click.option("--specs", type=folder, help="Folder of specs. [default: specs]"),
            click.option("--cassettes", type=folder, help="Folder of cassettes. [default: cassettes]"),
        )
    ):
        command = option(command)
    return command


def read_save_settings(
    *,
    topic: str,
    scrubbed: tuple[str, ...],
    allowed: tuple[str, ...],
    server: str | None,
    note: str | None,
    specs: str | None,
    cassettes: str | None,
) -> SaveSettings:
    """Return the settings, completed from the project's config. Raises `UsageError` for an invalid topic."""
    check_slug("--topic", topic)
    settings = read_settings({"specs": specs, "cassettes": cassettes, "allow": allowed})
    return SaveSettings(
        specs=Path(settings.selection.specs or "specs"),
        folder=Path(settings.selection.cassettes or "cassettes"),
        topic=topic,
        scrubbed=scrubbed,
        allowed=settings.allow,
        server=server,
        note=note,
    )


def check_slug(option: str, text: str | None) -> None:
    """Raise `UsageError` if `text` cannot be part of a case's id."""
    if text is not None and (not SLUG.fullmatch(text) or len(text) > 80):
        raise UsageError(f"`{option} {text}`: expected lower-case words and hyphens, as in `tool-call`")
