"""`conform record`: record a live server's answer as a cassette and a draft spec."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, get_args

import click
from streamconform.apis import APIS
from streamconform.cli import commands, options
from streamconform.cli.server import check_key_is_private, parse_base_url, parse_headers, read_key
from streamconform.config import ProjectSettings, read_settings
from streamconform.errors import UsageError
from streamconform.model.cassette import Recorded
from streamconform.secrets import scrub

from streamconform_capture.record.errors import RecordError
from streamconform_capture.record.exchange import RecordJob
from streamconform_capture.record.live import MAX_BYTES
from streamconform_capture.record.providers import HOSTS, RECORDINGS
from streamconform_capture.record.save import SavedRecording, record_and_save
from streamconform_capture.record.scenario_runs import Mode

REQUIRED: Final = {
    "--request": ("api", "base_url", "request_file", "name"),
    "--listen": ("listen", "upstream"),
    "--scenarios": ("scenarios", "endpoint"),
}
"""The options that each form of the command requires; the key is one of them."""
OPTIONS: Final = {
    "--request": {
        *("api", "base_url", "request_file", "model", "name", "topic", "headers", "key_env", "twin"),
        *("allow_error", "timeout"),
    },
    "--listen": {"listen", "upstream", "name", "topic"},
    "--scenarios": {
        *("scenarios", "endpoint", "api", "base_url", "model", "key_env", "timeout", "mode", "refresh"),
        *("dry_run", "max_cost"),
    },
}
"""The other options that each form accepts, besides those that all forms share."""
SLUG: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@click.command("record")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@click.option("--api", type=commands.Choice(list(APIS)), help="The wire format.")
@click.option("--base-url", metavar="URL", help="The server, without the API's own path.")
@click.option("--model", metavar="NAME", help="The model to request. [default: `model` in the request]")
@click.option(
    "--request",
    "request_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File with the JSON body to send; `model` and `stream: true` are filled in.",
)
@click.option(
    "--listen",
    metavar="HOST:PORT",
    help="Record the traffic between any client and --upstream, while COMMAND runs or until Ctrl-C.",
)
@click.option("--upstream", metavar="URL", help="With --listen: the server to forward to.")
@click.option("--scenarios", metavar="all|NAME,...", help="Names of the suite's conversations to record.")
@click.option("--endpoint", metavar="NAME", help="With --scenarios: openai, anthropic, llama-cpp, ...")
@click.option(
    "--mode",
    type=commands.Choice(get_args(Mode)),
    default="new",
    show_default=True,
    help="Which scenarios to record: none if there are recordings already, only missing ones, or all.",
)
@click.option(
    "--refresh", is_flag=True, help="Record scenarios again, but only report which shapes have changed."
)
@click.option("--dry-run", is_flag=True, help="Print the scenarios' requests and their estimated cost.")
@click.option(
    "--max-cost",
    type=click.FloatRange(min=0),
    metavar="USD",
    help="Stop before the scenarios cost more than this.",
)
@click.option("--name", help="Name of the cassette and the case. [with --listen: overheard-1, …]")
@click.option("--topic", default="recorded", show_default=True, help="Spec to which the draft case is added.")
@options.server_options
@click.option("--twin", is_flag=True, help="Also record the answer with `stream: false`, as its twin.")
@click.option(
    "--scrub", "names", multiple=True, metavar="TEXT", help="Replace this text everywhere. Repeatable."
)
@click.option(
    "--allow",
    "allowed",
    multiple=True,
    metavar="FIELD|FINGERPRINT",
    help="Ignore a possible secret. Repeatable.",
)
@click.option("--allow-error", is_flag=True, help="Also save answers that are not streams or not HTTP 2xx.")
@click.option("--server", metavar="TEXT", help="Name and version of the server, for the provenance.")
@click.option("--note", metavar="TEXT", help="A note for readers of the cassette.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=300.0, show_default=True)
@click.option("--specs", type=click.Path(file_okay=False), help="Folder of specs. [default: specs]")
@click.option(
    "--cassettes", type=click.Path(file_okay=False), help="Folder of cassettes. [default: cassettes]"
)
@click.pass_context
def command(
    ctx: click.Context, /, allowed: tuple[str, ...], words: tuple[str, ...], **arguments: Any
) -> None:
    """Record exchanges with a live server, as cassettes and draft cases.

    \b
    conform record --api openai-chat --base-url http://127.0.0.1:8080 \\
        --model my-model --request question.json --name my-first-recording
    conform record --listen 127.0.0.1:0 --upstream https://api.openai.com \\
        -- python my_agent.py
    conform record --scenarios all --endpoint openai --model gpt-5-mini

    The second form records the traffic between your own program and the server: COMMAND runs with the
    environment variables from which SDKs read their base URL. Every exchange is saved, whatever its API. The
    exit code is COMMAND's, or 2 if an answer could not be saved or no answer arrived.

    The third form records the suite's own conversations, such as text, refusals and parallel calls, from a
    provider, a gateway or a local engine; --dry-run shows the requests and the maximum cost.

    The key is read from the environment: ANTHROPIC_API_KEY, OPENAI_API_KEY, or --key-env VAR. Keys are never
    stored. Addresses, account ids and request ids are replaced by placeholders of the same length; if a
    possible secret remains, even encoded or split, nothing is written. Files go to ./cassettes and ./specs by
    default.
    """
    _check_words(arguments)
    settings = read_settings({key: arguments[key] for key in ("specs", "cassettes")} | {"allow": allowed})
    match _choose_form(ctx, words):
        case "--listen":
            from streamconform_capture.cli.record_listen import listen  # asyncio and h11 take time to import

            ctx.exit(listen(arguments, settings, words))
        case "--scenarios":
            from streamconform_capture.cli.record_scenarios import record_scenarios

            ctx.exit(record_scenarios(arguments, settings))
        case _:
            _record_one(arguments, settings)


def _record_one(arguments: Mapping[str, Any], settings: ProjectSettings) -> None:
    request_file, api = arguments["request_file"], arguments["api"]
    if api not in RECORDINGS:
        raise UsageError(f"`--api {api}` has the model in its path; record it with --scenarios or --listen")
    base_url, host = parse_base_url(arguments["base_url"], "--base-url")
    body = _read_body(request_file)
    model = arguments["model"] or body.get("model")
    if not (isinstance(model, str) and model):
        raise UsageError(f"`{request_file}` has no `model`; add --model NAME")
    key = read_key(arguments["key_env"], APIS[arguments["api"]].key.variable)
    check_key_is_private(base_url, host, key)
    order = RecordJob(
        api=arguments["api"],
        base_url=base_url,
        model=model,
        name=arguments["name"],
        body=body,
        headers=parse_headers(arguments["headers"]),
        key=key,
        twin=arguments["twin"],
        allow_error=arguments["allow_error"],
        timeout=arguments["timeout"],
        server=arguments["server"] or (host if host in HOSTS else "unnamed server"),
        note=arguments["note"],
        names=arguments["names"],
        allowed=settings.allow,
    )
    specs = Path(settings.selection.specs or "specs")
    folder = Path(settings.selection.cassettes or "cassettes")
    progress = _ProgressLine()
    try:
        kept = record_and_save(order, specs, folder, arguments["topic"], progress.add_chunk)
    except RecordError as error:
        # The message may quote the answer or the URL, which may contain the key.
        raise type(error)(*(_remove_secrets(order, text) for text in (error.where, error.why))) from None
    finally:
        progress.end()
    _print_result(kept)
    case = f"{order.api}/{arguments['topic']}/{order.name}"
    click.echo(f"next: conform explain {case} --specs {specs} --cassettes {folder}", err=True)


def _check_words(arguments: Mapping[str, Any]) -> None:
    for option in ("name", "topic"):
        text = arguments[option]
        if text is not None and (not SLUG.fullmatch(text) or len(text) > 80):
            raise UsageError(f"`--{option} {text}`: expected lower-case words and hyphens, as in `tool-call`")


def _choose_form(ctx: click.Context, words: tuple[str, ...]) -> str:
    """Return the command's form, which is a key of `REQUIRED`.

    Raises `UsageError` if an option of another form is used, or a required option is missing.
    """
    # By source, because options with a default, such as `--timeout`, have a value even if they are not given.
    given = {
        name
        for name in ctx.params
        if name != "words" and ctx.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
    }
    form = next((form for form in ("--listen", "--scenarios") if given & set(REQUIRED[form])), "--request")
    if words and form != "--listen":
        raise UsageError(f"`{words[0]}` is unexpected: a command is run only with --listen and --upstream")
    for name in REQUIRED[form]:
        if ctx.params[name] is None:
            raise UsageError(f"missing option `{_get_option(ctx, name)}`; see `conform record --help`")
    others = set().union(*OPTIONS.values()) - OPTIONS[form]
    for name in sorted(given & others):
        raise UsageError(f"`{_get_option(ctx, name)}` cannot be used with `{form}`")
    return form


def _get_option(ctx: click.Context, name: str) -> str:
    return next(option.opts[0] for option in ctx.command.params if option.name == name)


def _print_result(kept: SavedRecording) -> None:
    cassette = kept.cassette
    assert isinstance(cassette.provenance, Recorded), "the recorder makes only recorded cassettes"
    click.echo(f"{kept.metadata}")
    click.echo(f"  HTTP {cassette.status}, {len(cassette.body):,} bytes in {len(cassette.marks):,} chunks")
    if cassette.twin is not None:
        click.echo(f"  twin of {len(cassette.twin):,} bytes")
    for kind, count in kept.replaced.items():
        click.echo(f"  replaced: {count} x {kind}")
    if cassette.provenance.note:
        click.echo(f"  {cassette.provenance.note}")
    click.echo(f"{kept.spec}")
    click.echo(f"  draft case `{cassette.name}`: review it, then remove `reviewed: false`")


def _read_body(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            # One byte more than the limit, so that a larger file is recognized without reading all of it.
            data = file.read(MAX_BYTES + 1)
        body = json.loads(data[:MAX_BYTES]) if len(data) <= MAX_BYTES else None
    except OSError as error:
        raise UsageError(f"`{path}` cannot be read: {error.strerror}") from None
    except json.JSONDecodeError as error:
        raise UsageError(f"`{path}`, line {error.lineno}, column {error.colno}: {error.msg}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"`{path}` is not JSON in UTF-8") from None
    if not isinstance(body, dict):
        raise UsageError(f"`{path}`: expected the request body, a JSON object of at most {MAX_BYTES:,} bytes")
    return body


def _remove_secrets(order: RecordJob, text: str) -> str:
    """Return `text` without the known secrets, such as a key in the base URL's path."""
    return scrub.blank(text.encode(), order.secrets).decode("utf-8", "replace")


class _ProgressLine:
    """A progress line for terminals: counts and the last event type, but no text, which may contain a key."""

    EVENT_TYPE: Final = re.compile(rb'"(?:type|object)": ?"([a-z][a-z_.]{2,50})"')

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._start = time.monotonic()
        self._chunks = self._bytes = 0
        self._event_type = ""

    def add_chunk(self, data: bytes) -> None:
        self._chunks += 1
        self._bytes += len(data)
        if types := self.EVENT_TYPE.findall(data):
            self._event_type = types[0].decode()
        if self._is_terminal:
            seconds = time.monotonic() - self._start
            line = f"{seconds:6.1f} s  {self._chunks} chunks  {self._bytes} bytes  {self._event_type}"
            # Padded, so that a shorter line covers the previous one.
            click.echo(f"\r{line:78}", err=True, nl=False)

    def end(self) -> None:
        if self._is_terminal and self._chunks:
            click.echo(err=True)
