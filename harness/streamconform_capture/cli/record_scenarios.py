"""`conform record --scenarios`: record the suite's own conversations from an endpoint."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from streamconform.apis import APIS
from streamconform.cli.server import check_key_is_private, parse_base_url, read_key
from streamconform.config import ProjectSettings
from streamconform.errors import ConformError, UsageError
from streamconform.plural import format_count
from streamconform.printable import escape_line
from streamconform.run.exits import Exit
from streamconform.secrets import scrub
from streamconform.suggestions import suggest
from streamconform.suite.scenarios import Scenario, load_bundled

from streamconform_capture.record.endpoints import ENDPOINTS, Endpoint, fill_in, get_host
from streamconform_capture.record.errors import CannotConnect, RecordError
from streamconform_capture.record.exchange import Origin
from streamconform_capture.record.prices import INSTALL
from streamconform_capture.record.scenario_runs import (
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
ALL: Final = "all"
WIDTH: Final = 400
MAX_CHANGES: Final = 200
"""The maximum number of shape changes to list."""


def record_scenarios(arguments: Mapping[str, Any], settings: ProjectSettings) -> int:
    """Record the scenarios selected by `arguments`; return the exit code."""
    endpoint = _find(arguments["endpoint"], ENDPOINTS, "--endpoint")
    scenarios = _select_scenarios(arguments["scenarios"])
    apis = _select_apis(arguments["api"], endpoint)
    plan = _make_settings(arguments, settings, endpoint, apis)
    planned = tuple(plan_requests(plan, apis, scenarios))
    if arguments["refresh"]:
        return _refresh(planned, plan, _Budget(arguments["max_cost"]), dry_run=arguments["dry_run"])
    chosen = select_requests(planned, plan, arguments["mode"])
    if arguments["dry_run"]:
        return _show(chosen, plan)
    left_out = len(planned) - len(chosen)
    if not chosen:
        click.echo(f"nothing to record: {left_out} already recorded; `--mode all` replaces them")
        return Exit.EXPECTED
    _check_prices(chosen, arguments["max_cost"])
    recorded = _send_all(chosen, plan, _Budget(arguments["max_cost"]), _save)
    before = f"; {left_out} already recorded" if left_out else ""
    click.echo(
        f"{len(recorded)} of {format_count(len(chosen), 'answer')} recorded{before}{_format_sum(recorded)}"
    )
    if recorded:
        words = f"--specs {plan.specs} --cassettes {plan.folder}"
        click.echo(f"review the drafts, then `conform run {words} -i …`", err=True)
    return Exit.EXPECTED if len(recorded) == len(chosen) else Exit.UNEXPECTED


def _make_settings(
    arguments: Mapping[str, Any], settings: ProjectSettings, endpoint: Endpoint, apis: Sequence[str]
) -> ScenarioSettings:
    model = arguments["model"] or endpoint.model
    if model is None:
        raise UsageError(f"`{endpoint.name}` serves several models; add --model NAME")
    url = arguments["base_url"] or fill_in(endpoint.base_url, endpoint)
    base_url, host = parse_base_url(url, "--base-url")
    # A provider's key is not sent to the user's own server unless the user says so.
    variable = "" if endpoint.is_local else (endpoint.key or APIS[apis[0]].key).variable
    key = read_key(arguments["key_env"], variable)
    check_key_is_private(base_url, host, key)
    if key is None and not endpoint.is_local and not arguments["dry_run"]:
        raise UsageError(f"no key for {endpoint.title}: set `{variable}`, or pass --key-env VAR")
    return ScenarioSettings(
        endpoint=endpoint,
        base_url=base_url,
        model=model,
        key=key,
        specs=Path(settings.selection.specs or "specs"),
        folder=Path(settings.selection.cassettes or "cassettes"),
        origin=Origin(
            server=arguments["server"] or (endpoint.title if endpoint.is_local else get_host(base_url)),
            note=arguments["note"],
        ),
        timeout=arguments["timeout"],
        names=arguments["names"],
        allowed=settings.allow,
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
    keep: Callable[[RecordedScenario, PlannedRequest, ScenarioSettings], None],
) -> list[RecordedScenario]:
    """Send the requests in turn and return the recordings; a failure ends only its own scenario."""
    recorded = []
    for number, planned in enumerate(chosen):
        if not budget.allows(planned):
            click.echo(
                f"stopped before {planned.api}/{planned.name}: it may exceed --max-cost {budget.limit}; "
                f"{format_count(len(chosen) - number, 'request')} not sent",
                err=True,
            )
            break
        try:
            answer = record_scenario(planned, plan)
            keep(answer, planned, plan)
        # The server is gone, so every further request would fail in the same way.
        except CannotConnect:
            raise
        except (RecordError, ConformError) as error:
            secrets = scrub.extract_secrets(planned.request.secret)
            why = scrub.blank(str(error).encode(), secrets).decode("utf-8", "replace")
            click.echo(escape_line(f"not recorded: {planned.api}/{planned.name}: {why}", WIDTH), err=True)
            continue
        budget.spent += answer.cost or 0
        recorded.append(answer)
        click.echo(escape_line(_describe(answer), WIDTH))
    return recorded


def _save(answer: RecordedScenario, planned: PlannedRequest, plan: ScenarioSettings) -> None:
    save_scenario(answer, planned, plan)


def _refresh(
    planned: Sequence[PlannedRequest], plan: ScenarioSettings, budget: _Budget, *, dry_run: bool
) -> int:
    """Repeat the requests of the existing recordings, write nothing, and print which shapes have changed."""
    before = {(request.api, request.name): load_recorded(request, plan) for request in planned}
    chosen = [request for request in planned if before[request.api, request.name] is not None]
    if not chosen:
        raise UsageError(f"no recordings from `{plan.endpoint.name}` in `{plan.folder}`; leave out --refresh")
    if dry_run:
        return _show(chosen, plan)
    _check_prices(chosen, budget.limit)
    recorded = _send_all(chosen, plan, budget, lambda *_: None)
    now = [answer.exchange.cassette for answer in recorded]
    # Only scenarios that were answered again can be compared.
    old = [cassette for new in now if (cassette := before[new.api, new.name]) is not None]
    changes = list(compare_shapes(old, now))
    for change in changes[:MAX_CHANGES]:
        click.echo(escape_line(_describe_change(change), WIDTH))
    if len(changes) > MAX_CHANGES:
        click.echo(f"and {len(changes) - MAX_CHANGES} more")
    compared = f"{format_count(len(now), 'answer')} recorded again and compared, nothing written"
    click.echo(f"{compared}: {format_count(len(changes), 'change')} of shape{_format_sum(recorded)}")
    if changes:
        click.echo("`--mode all` replaces the recordings", err=True)
    return Exit.EXPECTED if not changes and len(now) == len(chosen) else Exit.UNEXPECTED


def _show(chosen: Sequence[PlannedRequest], plan: ScenarioSettings) -> int:
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


def _select_scenarios(text: str) -> tuple[Scenario, ...]:
    known = {scenario.name: scenario for scenario in load_bundled()}
    if text == ALL:
        return tuple(known.values())
    return tuple(_find(name.strip(), known, "--scenarios") for name in text.split(","))


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
