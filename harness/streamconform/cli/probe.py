"""`conform probe`: judge the streams that a live server makes."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Any, Final

import click

from streamconform import reports
from streamconform.apis import APIS
from streamconform.cli import options
from streamconform.cli.known_failures import known_failures, known_failures_options, must_update_whole, update
from streamconform.cli.placed import placed
from streamconform.cli.run import keep_results_out_of_version_control
from streamconform.cli.server import base_url_of, headers_of, key_of, must_be_private
from streamconform.errors import UsageError
from streamconform.reports.terminal import Terminal
from streamconform.run.session import Progress
from streamconform.suite.catalog import read_catalog

RESULTS: Final = options.RESULTS.parent / "probe.jsonl"
"""Where results go that nobody asked for elsewhere; those of the last run stay."""


@click.command("probe")
@click.argument("url")
@click.option("--api", required=True, type=click.Choice(list(APIS)), help="The wire format that it speaks.")
@click.option("--model", metavar="NAME", help="The model to ask. [default: `default`]")
@click.option(
    "-k",
    "--select",
    multiple=True,
    metavar="PATTERN",
    help="Only questions that match: a glob on ids (* one component, ** any number), or a word.",
)
@click.option(
    "--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="Send this too. Repeatable."
)
@click.option("--key-env", metavar="VAR", help="Variable with the key. [default: the provider's usual one]")
@click.option("--temperature", type=click.FloatRange(min=0), help="Ask for this. [default: the server's own]")
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds for one answer. [default: 60]"
)
@known_failures_options
@click.option("--strict", is_flag=True, help="Let warnings (level should) fail the probe.")
@click.option("-x", "--exitfirst", is_flag=True, help="Stop at the first unexpected verdict.")
@click.option("--maxfail", type=click.IntRange(min=1), help="Stop after this many unexpected verdicts.")
@click.option(
    "--report",
    multiple=True,
    metavar="KIND=PATH",
    help=f"Also write a report: {', '.join(reports.REPORTS)} or jsonl; PATH - is stdout. Repeatable. "
    "Results always go to .conform/probe.jsonl, unless jsonl=PATH says where.",
)
@click.option("-q", "--quiet", count=True, help="Print only the last line; twice: nothing.")
@click.option("-v", "--verbose", count=True, help="Print warnings too, and every question of a cause.")
@click.pass_context
def command(ctx: click.Context, /, url: str, **given: Any) -> None:
    """Judge the streams that a live server makes: a gateway, a proxy, an inference server.

    \b
    conform probe http://127.0.0.1:8080 --api openai-chat --model my-model
    conform probe http://127.0.0.1:8080 --api anthropic-messages -k 'probe/**/tool-call'
    conform probe https://gateway.example --api openai-responses --key-env GATEWAY_KEY

    The server is asked standard questions, streamed and not, one after the other. Every stream is held to the
    grammar of the api, as its provider documents it, and read by the reference parser; errors and counts of
    tokens are judged too. The key comes from the environment and is nowhere kept. This costs tokens.
    """
    # What follows is slow to import, and not needed for `--help`.
    from streamconform.tools.probe.plan import cases, unmatched
    from streamconform.tools.probe.probe import Order, conduct
    from streamconform.tools.probe.requests import Asking

    started = time.perf_counter()
    api = given["api"]
    base_url, host = base_url_of(url, "URL")
    if given["model"] is None and APIS[api].endpoints.names_model:
        raise UsageError(f"the path of {api} names the model; give --model NAME")
    key = key_of(given["key_env"], APIS[api].key.variable)
    must_be_private(base_url, host, key)
    headers = headers_of(given["headers"])
    chosen = {name: value for name, value in given.items() if value not in (None, ())}
    wanted = [reports.parse(each) for each in chosen.get("report", ())]
    must_update_whole(given | {"api": None}, chosen)
    files = known_failures(chosen, [base_url], lambda entries: unmatched(entries, api))
    order = Order(
        base_url=base_url,
        asking=Asking(
            api=api,
            model=given["model"] or "default",
            key=key,
            headers=headers,
            temperature=given["temperature"],
        ),
        cases=cases(api, given["select"], keyed=key is not None),
        timeout=given["timeout"] or 60.0,
        strict=given["strict"],
        maxfail=1 if given["exitfirst"] else given["maxfail"] or 0,
        command=_command(base_url, given),
        selection={name: chosen.get(name) for name in ("api", "model", "select", "known_failures")},
        listed=tuple(each.listed for each in files),
    )
    named = (target for kind, target in wanted if kind == reports.STREAMED)
    path = Path(next(named, RESULTS))
    if path == RESULTS:
        keep_results_out_of_version_control()
    to_stdout = any(target == "-" for _, target in wanted)
    quiet = 2 if to_stdout else given["quiet"]  # machine output is never mixed with prose
    with Terminal(quiet=min(quiet, 1), verbose=given["verbose"], strict=order.strict) as terminal:
        finished = conduct(order, path, Progress(terminal.begun, terminal.ended))
        if quiet < 2:
            terminal.finished(finished.results, time.perf_counter() - started)
    place = placed(read_catalog(options.sources(chosen)), ())
    for kind, target in wanted:
        if kind != reports.STREAMED:
            reports.write(kind, target, finished.results, place)
    if given["update"]:
        for line in update(files, finished, strict=order.strict):
            click.echo(line, err=True)
    ctx.exit(finished.exit)


def _command(base_url: str, given: dict[str, Any]) -> str:
    """Return the command that asks again; headers stand in it by name only, for they may be private."""
    words = ["conform", "probe", base_url, "--api", given["api"]]
    for option in ("model", "key_env", "temperature"):
        if given[option] is not None:
            words += [f"--{option.replace('_', '-')}", str(given[option])]
    for header in given["headers"]:
        words += ["--header", f"{header.partition(':')[0].strip()}: …"]
    return shlex.join(words)
