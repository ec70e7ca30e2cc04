"""The command line: `conform VERB`. Verbs are loaded on first use, so that `--help` is instant."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Mapping
from io import TextIOWrapper
from typing import Final

import click

from streamconform import __version__
from streamconform.errors import ConformError

VERBS: Final[Mapping[str, str]] = {
    "run": "Judge implementations against the recorded streams.",
    "list": "List the cases that a run would judge.",
    "report": "Make a report of results: JUnit, Markdown, annotations, a badge.",
    "explain": "Show a case: its frames, events, and expected beside actual.",
    "minimise": "Find the smallest stream that still fails the same check.",
    "diff": "Compare two results: what is new, what is fixed.",
    "serve": "Serve the recorded streams over HTTP, to debug a client.",
    "check": "Judge an outcome that was made elsewhere.",
    "init": "Put an adapter, a workflow and a config into a project, ready to run.",
    "smoke": "Check that an adapter is sane, before the library is blamed.",
    "lint": "Check specs and cassettes.",
    "record": "Record an exchange with a live server as a cassette and a draft spec.",
    "probe": "Judge the streams that a live server makes.",
    "proxy": "Speak one api to clients, and ask a server in another.",
    "import": "Turn captured streams into cassettes and draft specs.",
    "compare": "Run implementations over recordings and show where they differ.",
    "corpus": "Pull recordings that others publish, for `compare`.",
    "peers": "Install libraries that can be judged without writing an adapter.",
    "schema": "Print a published JSON Schema.",
    "selftest": "Judge the suite itself with broken parsers.",
}
"""Every verb, with its line in `--help`; each is a module of its own with a `command`."""

MODULES: Final[Mapping[str, str]] = {"import": "import_"}
"""The modules of verbs that Python keeps for itself."""


class Verbs(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of the table."""
        del ctx
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command behind a verb."""
        del ctx
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"streamconform.cli.{MODULES.get(cmd_name, cmd_name)}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs from the table, without importing them."""
        del ctx
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 as expected, 1 unexpected failures, 2 usage or input, 3 implementation unusable, "
    "4 our bug, 5 nothing ran, 130 interrupted.",
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
    """Run the command line and exit; a user's mistake is one message, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what is judged may answer with anything
    try:
        code = conform.main(standalone_mode=False)
    except click.exceptions.Abort:
        code = 130
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except ConformError as error:
        click.echo(f"error: {error}" if "\n" not in str(error) else str(error), err=True)
        code = error.exit_code
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output went away, as `head` does
        code = 0
    except Exception:  # noqa: BLE001 - whatever is left is our own mistake, and is said to be
        traceback.print_exc()
        click.echo(
            "\nThis is a bug of streamconform, not of what it judges; please report it with the text above.",
            err=True,
        )
        code = 4
    sys.exit(code if isinstance(code, int) else 0)
