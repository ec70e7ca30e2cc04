"""`conform record`: record a live server's answer as a cassette and a draft spec."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import click

from streamconform.apis import APIS
from streamconform.cli import commands, options
from streamconform.cli.server import check_key_is_private, parse_base_url, parse_headers, read_key
from streamconform.conservation import require_balance
from streamconform.errors import UsageError
from streamconform.files import read_given
from streamconform.model.cassette import Recorded
from streamconform.secrets import scrub
from streamconform.secrets.placeholders import NOT_REPLACED
from streamconform_capture.cli.record.saving import SaveSettings, check_slug, read_save_settings, save_options
from streamconform_capture.record.errors import RecordError
from streamconform_capture.record.exchange import RecordJob
from streamconform_capture.record.live import MAX_BYTES
from streamconform_capture.record.providers import RECORDINGS
from streamconform_capture.record.save import SavedRecording, record_and_save

REQUIRED: Final = ("api", "base_url", "request_file", "name")
"""The options that must be given, unless a subcommand is called."""
SUMMARIES: Final[Mapping[str, str]] = {
    "listen": "Record the traffic between any client and a server.",
    "scenarios": "Record the suite's own conversations.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOptions:
    """The options of the command itself, by the names that click passes; others say how to save."""

    api: str | None
    base_url: str | None
    model: str | None
    request_file: Path | None
    name: str | None
    headers: tuple[str, ...]
    key_env: str | None
    twin: bool
    allow_error: bool
    timeout: float


@click.group(
    "record", cls=commands.LazyGroup, summaries=SUMMARIES, package=__name__, invoke_without_command=True
)
@click.option("--api", type=commands.Choice(list(APIS)), help="The wire format.")
@click.option("--base-url", metavar="URL", help="The server, without the API's own path.")
@click.option("--model", metavar="NAME", help="The model to request. [default: `model` in the request]")
@click.option(
    "--request",
    "request_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File with the JSON body to send; `model` and `stream: true` are filled in.",
)
@click.option("--name", help="Name of the cassette and the case.")
@options.server_options
@click.option("--twin", is_flag=True, help="Also record the answer with `stream: false`, as its twin.")
@click.option("--allow-error", is_flag=True, help="Also save answers that are not streams or not HTTP 2xx.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=300.0, show_default=True)
@save_options
@click.pass_context
def command(ctx: click.Context, /, **arguments: Any) -> None:
    """Record an exchange with a live server, as a cassette and a draft case.

    \b
    conform record --api openai-chat --base-url http://127.0.0.1:8080 \\
        --model my-model --request question.json --name my-first-recording
    conform record listen --upstream https://api.openai.com -- python my_agent.py
    conform record scenarios --endpoint openai --model gpt-5-mini

    The key is read from the environment: ANTHROPIC_API_KEY, OPENAI_API_KEY, or --key-env VAR. Keys are never
    stored. E-mail addresses, phone and card numbers, account ids and request ids are replaced by placeholders
    of the same length; names and postal addresses are not, unless --scrub names them. If a possible secret
    remains, even encoded or split, nothing is written. Files go to ./cassettes and ./specs by default.
    """
    if ctx.invoked_subcommand is not None:
        _reject_options(ctx)
        return
    given = RecordOptions(**{field.name: arguments.pop(field.name) for field in fields(RecordOptions)})
    settings = read_save_settings(**arguments)
    _record(_make_job(ctx, given, settings), settings)


def _make_job(ctx: click.Context, given: RecordOptions, settings: SaveSettings) -> RecordJob:
    api, name = given.api, given.name
    check_slug("--name", name)
    if api is None or given.base_url is None or given.request_file is None or name is None:
        raise UsageError(f"missing option `{_find_missing(ctx)}`; see `conform record --help`")
    if api not in RECORDINGS:
        raise UsageError(
            f"`--api {api}` has the model in its path; record it with `conform record listen` or `scenarios`"
        )
    base_url, host = parse_base_url(given.base_url, "--base-url")
    body = _read_body(given.request_file)
    requested = given.model or body.get("model")
    if not (isinstance(requested, str) and requested):
        raise UsageError(f"`{given.request_file}` has no `model`; add --model NAME")
    key = read_key(given.key_env, APIS[api].key.variable)
    check_key_is_private(base_url, host, key)
    return RecordJob(
        api=api,
        base_url=base_url,
        model=requested,
        name=name,
        body=body,
        headers=parse_headers(given.headers),
        key=key,
        twin=given.twin,
        allow_error=given.allow_error,
        timeout=given.timeout,
        server=settings.server,
        note=settings.note,
        names=settings.scrubbed,
        allowed=settings.allowed,
    )


def _record(job: RecordJob, settings: SaveSettings) -> None:
    progress = _ProgressLine()
    try:
        kept = record_and_save(job, settings.specs, settings.folder, settings.topic, progress.add_chunk)
    except RecordError as error:
        # The message may quote the answer or the URL, which may contain the key.
        raise type(error)(*(_remove_secrets(job, text) for text in (error.where, error.why))) from None
    finally:
        progress.end()
    _print_result(kept)
    require_balance(kept.balance)
    case = f"{job.api}/{settings.topic}/{job.name}"
    click.echo(
        f"next: conform explain {case} --specs {settings.specs} --cassettes {settings.folder}", err=True
    )


def _reject_options(ctx: click.Context) -> None:
    """Raise `UsageError` for an option before a subcommand, which would have no effect."""
    for option in ctx.command.params:
        if ctx.get_parameter_source(option.name or "") is not click.core.ParameterSource.DEFAULT:
            raise UsageError(
                f"`{option.opts[0]}` has no effect before `{ctx.invoked_subcommand}`; write it after"
            )


def _find_missing(ctx: click.Context) -> str:
    return next(
        option.opts[0]
        for name in REQUIRED
        for option in ctx.command.params
        if option.name == name and ctx.params[name] is None
    )


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
    click.echo(
        f"  draft case `{cassette.name}`: review it, also for {NOT_REPLACED}, then remove `reviewed: false`"
    )


def _read_body(path: Path) -> dict[str, Any]:
    try:
        body = json.loads(read_given(path, MAX_BYTES))
    except OSError as error:
        raise UsageError(f"`{path}` cannot be read: {error.strerror}") from None
    except json.JSONDecodeError as error:
        raise UsageError(f"`{path}`, line {error.lineno}, column {error.colno}: {error.msg}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"`{path}` is not JSON in UTF-8") from None
    if not isinstance(body, dict):
        raise UsageError(f"`{path}`: expected the request body, a JSON object")
    return body


def _remove_secrets(job: RecordJob, text: str) -> str:
    """Return `text` without the known secrets, such as a key in the base URL's path."""
    return scrub.blank(text.encode(), job.secrets).decode("utf-8", "replace")


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
