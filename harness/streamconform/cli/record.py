"""`conform record`: one request to a live server becomes a cassette and a draft spec."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import click

from streamconform.apis import APIS
from streamconform.cli import options
from streamconform.cli.server import base_url_of, headers_of, key_of, must_be_private
from streamconform.errors import UsageError
from streamconform.model.cassette import Recorded
from streamconform.tools.record import scrub
from streamconform.tools.record.errors import RecordError
from streamconform.tools.record.exchange import RecordJob
from streamconform.tools.record.live import MAX_BYTES
from streamconform.tools.record.providers import HOSTS, RECORDINGS
from streamconform.tools.record.save import SavedRecording, record_and_save

SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@click.command("record")
@click.option("--api", required=True, type=click.Choice(list(RECORDINGS)), help="The wire format to ask in.")
@click.option("--base-url", required=True, metavar="URL", help="The server, without the api's own path.")
@click.option("--model", metavar="NAME", help="The model to ask. [default: the request's own]")
@click.option(
    "--request",
    "request_file",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The JSON body to send; `model` and `stream: true` are filled in.",
)
@click.option("--name", required=True, help="Name of the cassette and of the case.")
@click.option("--topic", default="recorded", show_default=True, help="Spec that gets the draft.")
@click.option(
    "--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="Send this too. Repeatable."
)
@click.option("--key-env", metavar="VAR", help="Variable with the key. [default: the provider's usual one]")
@click.option("--twin", is_flag=True, help="Ask again with `stream: false`, and keep that answer beside it.")
@click.option(
    "--scrub", "names", multiple=True, metavar="TEXT", help="Replace this name everywhere. Repeatable."
)
@click.option(
    "--allow", "allowed", multiple=True, metavar="FIELD|FINGERPRINT", help="Let a finding pass. Repeatable."
)
@click.option("--allow-error", is_flag=True, help="Keep an answer that is no stream or not 2xx.")
@click.option("--server", metavar="TEXT", help="What answers, for the provenance: name and version.")
@click.option("--note", metavar="TEXT", help="What else a reader of the cassette should know.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=300.0, show_default=True)
@click.option("--specs", type=click.Path(file_okay=False), help="Folder of specs. [default: specs]")
@click.option(
    "--cassettes", type=click.Path(file_okay=False), help="Folder of cassettes. [default: cassettes]"
)
def command(request_file: Path, names: tuple[str, ...], allowed: tuple[str, ...], **given: Any) -> None:
    """Record one exchange with a live server, as a cassette and a draft spec.

    \b
    conform record --api openai-chat --base-url http://127.0.0.1:8080 \\
        --model my-model --request question.json --name my-first-recording

    The key comes from the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, or --key-env VAR) and is nowhere
    kept. Keys, addresses, account and request ids are replaced length for length; nothing is written if
    something is left that may be secret. Files go to ./cassettes and ./specs unless told otherwise.
    """
    for option in ("name", "topic"):
        if not SLUG.fullmatch(given[option]) or len(given[option]) > 80:
            raise UsageError(f"--{option} is lower-case words joined by hyphens, such as `tool-call-cut`")
    base_url, host = base_url_of(given["base_url"], "--base-url")
    body = _body(request_file)
    model = given["model"] or body.get("model")
    if not (isinstance(model, str) and model):
        raise UsageError(f"`{request_file}` names no `model`; give --model NAME")
    key = key_of(given["key_env"], APIS[given["api"]].key.variable)
    must_be_private(base_url, host, key)
    order = RecordJob(
        api=given["api"],
        base_url=base_url,
        model=model,
        name=given["name"],
        body=body,
        headers=headers_of(given["headers"]),
        key=key,
        twin=given["twin"],
        allow_error=given["allow_error"],
        timeout=given["timeout"],
        server=given["server"] or (host if host in HOSTS else "unnamed server"),
        note=given["note"],
        names=names,
        allowed=allowed,
    )
    chosen = options.settings({key: given[key] for key in ("specs", "cassettes")})
    specs = Path(chosen.get("specs", "specs"))
    folder = Path(chosen.get("cassettes", "cassettes"))
    progress = _Progress()
    try:
        kept = record_and_save(order, specs, folder, given["topic"], progress.chunk)
    except RecordError as error:
        raise type(error)(*(_free(order, text) for text in (error.where, error.why))) from None
    finally:
        progress.done()
    _report(kept)
    case = f"{order.api}/{given['topic']}/{order.name}"
    click.echo(f"next: conform explain {case} --specs {specs} --cassettes {folder}", err=True)


def _report(kept: SavedRecording) -> None:
    cassette = kept.cassette
    assert isinstance(cassette.provenance, Recorded), "the recorder makes no other"
    click.echo(f"{kept.metadata}")
    click.echo(f"  HTTP {cassette.status}, {len(cassette.body)} bytes in {len(cassette.marks)} chunks")
    if cassette.twin is not None:
        click.echo(f"  twin of {len(cassette.twin)} bytes")
    for kind, count in kept.replaced.items():
        click.echo(f"  replaced: {count} x {kind}")
    if cassette.provenance.note:
        click.echo(f"  {cassette.provenance.note}")
    click.echo(f"{kept.spec}")
    click.echo(f"  draft case `{cassette.name}`: check it, then take `reviewed: false` away")


def _body(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        body = json.loads(data[:MAX_BYTES]) if len(data) <= MAX_BYTES else None
    except OSError as error:
        raise UsageError(f"`{path}` cannot be read: {error.strerror}") from None
    except json.JSONDecodeError as error:
        raise UsageError(f"`{path}`, line {error.lineno}, column {error.colno}: {error.msg}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"`{path}` is not JSON in UTF-8") from None
    if not isinstance(body, dict):
        raise UsageError(
            f"`{path}` holds no JSON object of at most {MAX_BYTES} bytes, as a request's body is"
        )
    return body


def _free(order: RecordJob, text: str) -> str:
    """Return `text` without the secrets that are known, such as a key in the path of the base URL."""
    return scrub.blank(text.encode(), order.secrets).decode("utf-8", "replace")


class _Progress:
    """What has come, on a terminal only: counts and kinds of events, never text, where a key may be."""

    KIND = re.compile(rb'"(?:type|object)": ?"([a-z][a-z_.]{2,50})"')

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._began = time.monotonic()
        self._chunks = self._bytes = 0
        self._kind = ""

    def chunk(self, data: bytes) -> None:
        self._chunks += 1
        self._bytes += len(data)
        if kinds := self.KIND.findall(data):
            self._kind = kinds[0].decode()
        if self._shown:
            seconds = time.monotonic() - self._began
            line = f"{seconds:6.1f} s  {self._chunks} chunks  {self._bytes} bytes  {self._kind}"
            click.echo(f"\r{line:78}", err=True, nl=False)

    def done(self) -> None:
        if self._shown and self._chunks:
            click.echo(err=True)
