"""`conform record scenarios`: record the suite's own conversations from an endpoint."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from http import HTTPStatus
from typing import Any, Final, TypeVar, get_args

import click

from streamconform.apis import APIS
from streamconform.cli import commands
from streamconform.cli.server import check_key_is_private, parse_base_url, read_key
from streamconform.conservation import Balance, require_balance
from streamconform.errors import ConformError, UsageError
from streamconform.model.cassette import Cassette
from streamconform.plural import format_count
from streamconform.printable import escape_line
from streamconform.run.exits import Exit
from streamconform.secrets import scrub
from streamconform.suggestions import suggest
from streamconform.suite.scenarios import Scenario, load_bundled
from streamconform.suite.selection import SelectionSettings, find_sources
from streamconform_capture.cli.record.saving import SaveSettings, read_save_settings, save_options
from streamconform_capture.compare.inputs.recording import Entry, wrap_cassette
from streamconform_capture.drift.find import Drift, find_drift
from streamconform_capture.drift.known import collect_known
from streamconform_capture.drift.report import format_lines
from streamconform_capture.record.endpoints import ENDPOINTS, Endpoint, fill_in, get_host
from streamconform_capture.record.errors import CannotConnect, RecordError
from streamconform_capture.record.exchange import Origin
from streamconform_capture.record.prices import INSTALL
from streamconform_capture.record.scenario_runs import (
    Mode,
    PlannedRequest,
    RecordedScenario,
    ScenarioSettings,
    ShapeChange,
    compare_shapes,
    load_recorded,
    plan_requests,
    record_scenario,
    save_scenario,
    select_requests,
)

T = TypeVar("T")
WIDTH: Final = 400
MAX_CHANGES: Final = 200
"""The maximum number of shape changes to list."""


@click.command("scenarios")
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option(
    "--endpoint", required=True, metavar="NAME", help="Where to record: openai, anthropic, llama-cpp, ..."
)
@click.option("--api", type=commands.Choice(list(APIS)), help="Only this API. [default: all of the endpoint]")
@click.option("--base-url", metavar="URL", help="The server. [default: the endpoint's]")
@click.option("--model", metavar="MODEL", help="The model to request.")
@click.option(
    "--key-env",
    metavar="VAR",
    help="Environment variable with the key. [default: the provider's usual one]",
)
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=300.0, show_default=True)
@click.option(
    "--mode",
    type=commands.Choice(get_args(Mode)),
    default="new",
    show_default=True,
    help="Which scenarios to record: none if there are recordings already, only missing ones, or all.",
)
@click.option(
    "--refresh",
    is_flag=True,
    help="Ask again, save nothing, and report which shapes changed or are new to the suite.",
)
@click.option("--dry-run", is_flag=True, help="Print the requests and their estimated cost.")
@click.option(
    "--max-cost",
    type=click.FloatRange(min=0),
    metavar="USD",
    help="Stop before the scenarios cost more than this.",
)
@save_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    names: tuple[str, ...],
    endpoint: str,
    api: str | None,
    base_url: str | None,
    model: str | None,
    key_env: str | None,
    timeout: float,
    mode: Mode,
    max_cost: float | None,
    *,
    refresh: bool,
    dry_run: bool,
    **saving: Any,
) -> None:
    """Record the suite's own conversations, such as text, refusals and parallel calls; without NAMEs, all.

    \b
    conform record scenarios --endpoint openai --model gpt-5-mini --dry-run
    conform record scenarios text parallel-calls --endpoint llama-cpp

    An endpoint is a provider, a gateway or a local engine. --dry-run shows the requests and the maximum cost.
    """
    chosen = _find(endpoint, ENDPOINTS, "--endpoint")
    scenarios = _select_scenarios(names)
    apis = _select_apis(api, chosen)
    model = model or chosen.model
    if model is None:
        raise UsageError(f"`{chosen.name}` serves several models; add --model NAME")
    base_url, host = parse_base_url(base_url or fill_in(chosen.base_url, chosen), "--base-url")
    # A provider's key is not sent to the user's own server unless the user says so.
    variable = "" if chosen.is_local else (chosen.key or APIS[apis[0]].key).variable
    key = read_key(key_env, variable)
    check_key_is_private(base_url, host, key)
    if key is None and not chosen.is_local and not dry_run:
        raise UsageError(f"no key for {chosen.title}: set `{variable}`, or pass --key-env VAR")
    plan = _make_settings(
        chosen, base_url, model, key=key, timeout=timeout, saving=read_save_settings(**saving)
    )
    planned = tuple(plan_requests(plan, apis, scenarios))
    if refresh:
        ctx.exit(_refresh(planned, plan, _Budget(max_cost), dry_run=dry_run))
    ctx.exit(_record(planned, plan, mode, max_cost, dry_run=dry_run))


def _record(
    planned: Sequence[PlannedRequest],
    plan: ScenarioSettings,
    mode: Mode,
    max_cost: float | None,
    *,
    dry_run: bool,
) -> Exit:
    chosen = select_requests(planned, plan, mode)
    if dry_run:
        return _show(chosen, plan)
    left_out = len(planned) - len(chosen)
    if not chosen:
        click.echo(f"nothing to record: {left_out} already recorded; `--mode all` replaces them")
        return Exit.EXPECTED
    _check_prices(chosen, max_cost)
    recorded = _send_all(chosen, plan, _Budget(max_cost), save_scenario)
    before = f"; {left_out} already recorded" if left_out else ""
    click.echo(
        f"{len(recorded)} of {format_count(len(chosen), 'answer')} recorded{before}{_format_sum(recorded)}"
    )
    if recorded:
        words = f"--specs {plan.specs} --cassettes {plan.folder}"
        click.echo(f"review the drafts, then `conform run {words} -i …`", err=True)
    return Exit.EXPECTED if len(recorded) == len(chosen) else Exit.UNEXPECTED


def _make_settings(
    endpoint: Endpoint,
    base_url: str,
    model: str,
    *,
    key: str | None,
    timeout: float,
    saving: SaveSettings,
) -> ScenarioSettings:
    return ScenarioSettings(
        endpoint=endpoint,
        base_url=base_url,
        model=model,
        key=key,
        specs=saving.specs,
        folder=saving.folder,
        origin=Origin(
            server=saving.server or (endpoint.title if endpoint.is_local else get_host(base_url)),
            note=saving.note,
        ),
        timeout=timeout,
        names=saving.scrubbed,
        allowed=saving.allowed,
    )


class _Budget:
    """The money spent so far, and the limit."""

    def __init__(self, limit: float | None) -> None:
        # Through `str`, because `Decimal(0.1)` is more than 0.1.
        self.limit = None if limit is None else Decimal(str(limit))
        self.spent = Decimal()

    def allows(self, planned: PlannedRequest) -> bool:
        return self.limit is None or self.spent + (planned.estimate or 0) <= self.limit


def _send_all(
    chosen: Sequence[PlannedRequest],
    plan: ScenarioSettings,
    budget: _Budget,
    keep: Callable[[RecordedScenario, PlannedRequest, ScenarioSettings], int],
) -> list[RecordedScenario]:
    """Send the requests in turn and return the recordings; a failure ends only its own scenario.

    `keep` returns the number of bytes that it kept. Raises `LostError` unless that is what arrived.
    """
    recorded = []
    refused = unsent = saved = 0
    for number, planned in enumerate(chosen):
        if not budget.allows(planned):
            unsent = len(chosen) - number
            click.echo(
                f"stopped before {planned.api}/{planned.name}: it may exceed --max-cost {budget.limit}; "
                f"{format_count(unsent, 'request')} not sent",
                err=True,
            )
            break
        try:
            answer = record_scenario(planned, plan)
            saved += keep(answer, planned, plan)
        # The server is gone, so every further request would fail in the same way.
        except CannotConnect:
            raise
        except (RecordError, ConformError) as error:
            secrets = scrub.extract_secrets(planned.request.secret)
            why = scrub.blank(str(error).encode(), secrets).decode("utf-8", "replace")
            click.echo(escape_line(f"not recorded: {planned.api}/{planned.name}: {why}", WIDTH), err=True)
            refused += 1
            continue
        budget.spent += answer.cost or 0
        recorded.append(answer)
        click.echo(escape_line(_describe(answer), WIDTH))
    outcomes = {"recorded": len(recorded), "not recorded": refused, "not sent": unsent}
    received = sum(answer.exchange.received for answer in recorded)
    require_balance(
        Balance("request", "planned", len(chosen), outcomes),
        Balance("byte", "received", received, {"kept": saved}),
    )
    return recorded


def _refresh(
    planned: Sequence[PlannedRequest],
    plan: ScenarioSettings,
    budget: _Budget,
    *,
    dry_run: bool,
) -> Exit:
    """Send the requests again, write nothing, and print which shapes changed and which are new to the suite.

    If there are recordings from the endpoint, only their requests are sent.
    """
    before = {(request.api, request.name): load_recorded(request, plan) for request in planned}
    recorded_before = [request for request in planned if before[request.api, request.name] is not None]
    chosen = recorded_before or planned
    if dry_run:
        return _show(chosen, plan)
    _check_prices(chosen, budget.limit)
    recorded = _send_all(chosen, plan, budget, lambda answer, *_: len(answer.exchange.cassette.body))
    now = [answer.exchange.cassette for answer in recorded]
    # Only scenarios that were answered again can be compared.
    old = [cassette for new in now if (cassette := before[new.api, new.name]) is not None]
    changes = list(compare_shapes(old, now)) if recorded_before else []
    for change in changes[:MAX_CHANGES]:
        click.echo(escape_line(_describe_change(change), WIDTH))
    if len(changes) > MAX_CHANGES:
        click.echo(f"and {len(changes) - MAX_CHANGES} more")
    drift = _find_drift(now)
    for line in format_lines(drift):
        click.echo(escape_line(line, WIDTH))
    compared = f"{format_count(len(now), 'answer')} recorded again and compared, nothing written"
    click.echo(f"{compared}: {format_count(len(changes), 'change')} of shape{_format_sum(recorded)}")
    if changes:
        click.echo("`--mode all` replaces the recordings", err=True)
    is_same = not changes and not drift.novelties and len(now) == len(chosen)
    return Exit.EXPECTED if is_same else Exit.UNEXPECTED


def _find_drift(answers: Sequence[Cassette]) -> Drift:
    """Return what the suite has never seen, however old the recordings from this endpoint are."""
    sources = find_sources(SelectionSettings())
    cases = [
        wrap_cassette(Entry(file=cassette.name, api=cassette.api), cassette)
        for cassette in answers
        if cassette.status == HTTPStatus.OK
    ]
    return find_drift(cases, {api: collect_known(sources, api) for api in {case.api for case in cases}})


def _show(chosen: Sequence[PlannedRequest], plan: ScenarioSettings) -> Exit:
    """Print the requests and their maximum cost; send nothing."""
    for planned in chosen:
        body = json.dumps(planned.request.body, ensure_ascii=False, separators=(",", ":"))
        click.echo(f"{planned.api}/{planned.name}: POST {plan.base_url}{planned.request.path}")
        click.echo(f"  {escape_line(body, WIDTH)}")
    known = [planned.estimate for planned in chosen if planned.estimate is not None]
    cost = "" if plan.endpoint.is_local else f", at most {_format_cost(sum(known, Decimal()))}"
    if len(known) < len(chosen):
        cost = f", but the price of `{plan.model}` is not known ({INSTALL})"
    click.echo(f"{format_count(len(chosen), 'request')}{cost}; nothing was sent")
    return Exit.EXPECTED


def _check_prices(chosen: Sequence[PlannedRequest], limit: float | Decimal | None) -> None:
    if limit is not None and any(planned.estimate is None for planned in chosen):
        raise UsageError(f"--max-cost needs the model's price, which is not known; run `{INSTALL}`")


def _describe(answer: RecordedScenario) -> str:
    cassette = answer.exchange.cassette
    replaced = "".join(f", replaced {count} x {kind}" for kind, count in answer.exchange.replaced.items())
    cost = f", {_format_cost(answer.cost)}" if answer.cost else ""
    size = f"{len(cassette.body):,} bytes in {format_count(len(cassette.marks), 'chunk')}"
    return f"{cassette.api}/{cassette.name}: HTTP {cassette.status}, {size}{replaced}{cost}"


def _describe_change(change: ShapeChange) -> str:
    sign, words = ("+", "new in") if change.is_new else ("-", "no longer sent; was in")
    return f"{sign} {change.api}: {change.shape} ({words} {change.example})"


def _format_sum(recorded: Sequence[RecordedScenario]) -> str:
    costs = [answer.cost for answer in recorded]
    if not any(costs):
        return ""
    unknown = f", not counting {costs.count(None)} of unknown price" if None in costs else ""
    return f"; cost {_format_cost(sum((cost for cost in costs if cost is not None), Decimal()))}{unknown}"


def _format_cost(cost: Decimal) -> str:
    return f"{cost:.6f} USD" if cost < Decimal("0.01") else f"{cost:.4f} USD"


def _select_scenarios(names: Sequence[str]) -> tuple[Scenario, ...]:
    known = {scenario.name: scenario for scenario in load_bundled()}
    return tuple(_find(name, known, "NAME") for name in names or known)


def _select_apis(api: str | None, endpoint: Endpoint) -> tuple[str, ...]:
    if api is None:
        return endpoint.apis
    if api not in endpoint.apis:
        raise UsageError(f"`{endpoint.name}` does not support {api}; it supports {', '.join(endpoint.apis)}")
    return (api,)


def _find(name: str, known: Mapping[str, T], option: str) -> T:
    if name in known:
        return known[name]
    hint = suggest(name, known) or f"; known are {', '.join(known)}"
    raise UsageError(f"`{option} {name}`: unknown name{hint}")
