"""Record the suite's scenarios from an endpoint, or compare its current answers with earlier recordings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Literal

from streamconform.apis import APIS
from streamconform.errors import ConformError
from streamconform.model.cassette import Cassette
from streamconform.secrets.scrub import extract_secrets
from streamconform.suite import cassettes
from streamconform.suite.scenarios import Scenario
from streamconform.suite.shapes import Shape, read_shapes
from streamconform_capture.record import draft, prices, save
from streamconform_capture.record.endpoints import Endpoint, get_host, rewrite_path
from streamconform_capture.record.errors import UnexpectedResponse
from streamconform_capture.record.exchange import Origin, ScrubbedExchange, make_excerpt, scrub_exchange
from streamconform_capture.record.live import record
from streamconform_capture.record.providers import RECORDINGS
from streamconform_capture.record.scenario_request import LiveRequest, RequestSettings, build_request

Mode = Literal["once", "new", "all"]
"""The recording modes: record only if the API has no recordings yet, only what is missing, or everything.

They are like vcrpy's record modes: https://vcrpy.readthedocs.io/en/latest/usage.html#record-modes
"""
AGAIN = "-again"
"""The name suffix of the second answer to the same request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioSettings:
    """The settings for recording scenarios."""

    endpoint: Endpoint
    base_url: str
    model: str
    key: str | None
    specs: Path
    folder: Path
    """The folder of the cassettes."""
    origin: Origin
    timeout: float = 300.0
    names: tuple[str, ...] = ()
    """Names to replace everywhere."""
    allowed: tuple[str, ...] = ()
    """Fields and fingerprints that the scan ignores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRequest:
    """One request of a scenario."""

    api: str
    name: str
    """The name of the cassette and the case."""
    scenario: Scenario
    request: LiveRequest
    max_tokens: int
    estimate: Decimal | None
    """The maximum cost of the answer in USD; None if no price is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedScenario:
    """A recorded answer, and its cost in USD if known."""

    exchange: ScrubbedExchange
    cost: Decimal | None


@dataclass(frozen=True, slots=True)
class ShapeChange:
    """A shape that appeared in an API's streams, or disappeared from them."""

    api: str
    shape: Shape
    is_new: bool
    example: str
    """The first recording that contains, or contained, the shape."""


def plan_requests(
    settings: ScenarioSettings, apis: Sequence[str], scenarios: Sequence[Scenario]
) -> Iterator[PlannedRequest]:
    """Yield the requests, API by API, omitting scenarios that an API cannot express."""
    for api in apis:
        for scenario in scenarios:
            if scenario.possible(APIS[api].probing):
                yield from _plan_scenario(settings, api, scenario)


def select_requests(
    planned: Sequence[PlannedRequest], settings: ScenarioSettings, mode: Mode
) -> tuple[PlannedRequest, ...]:
    """Return the requests to record in `mode`."""
    if mode == "all":
        return tuple(planned)
    recorded = {(each.api, each.name) for each in planned if _exists(settings, each)}
    if mode == "once":
        complete = {api for api, _ in recorded}
        return tuple(each for each in planned if each.api not in complete)
    return tuple(each for each in planned if (each.api, each.name) not in recorded)


def record_scenario(planned: PlannedRequest, settings: ScenarioSettings) -> RecordedScenario:
    """Send the request and return the recording; nothing is written.

    Raises:
        RecordError: there is no answer, or it does not fit the scenario.

    """
    request = planned.request
    recording = record(
        settings.base_url,
        request.path,
        request.headers,
        request.body,
        secret_headers=request.secret,
        timeout=settings.timeout,
    )
    if recording.cut in ("timeout", "too_large"):
        raise UnexpectedResponse(request.path, f"the answer did not end within {settings.timeout:g} s")
    if not (200 <= recording.status < 300 or planned.scenario.error):
        excerpt = make_excerpt(recording, settings.names)
        raise UnexpectedResponse(
            request.path, f"HTTP status {recording.status}, expected 2xx; body: {excerpt}"
        )
    assert not isinstance(request.body, bytes), "the request of a scenario is an object"
    exchange = scrub_exchange(
        recording,
        request.body,
        api=planned.api,
        name=planned.name,
        model=settings.model,
        origin=settings.origin,
        names=settings.names,
    )
    return RecordedScenario(exchange=exchange, cost=_calculate_cost(exchange.cassette, settings))


def save_scenario(recorded: RecordedScenario, planned: PlannedRequest, settings: ScenarioSettings) -> int:
    """Write the cassette, and a draft case unless the case already exists; return the answer's size on disk.

    Raises:
        SecretsLeft: the scan found something; nothing is written.
        DraftRefused: no case can be appended to the spec.

    """
    cassette = recorded.exchange.cassette
    metadata, _, _ = save.save_new(
        cassette,
        f"{planned.scenario.title}, from {settings.endpoint.title}",
        save.Destination(settings.specs, settings.folder, settings.endpoint.name),
        secrets=extract_secrets(planned.request.secret),
        allowed=settings.allowed,
        refuse_random_words=False,
    )
    return save.measure_saved(metadata, cassette)


def load_recorded(planned: PlannedRequest, settings: ScenarioSettings) -> Cassette | None:
    """Return the earlier recording, or None."""
    if not _exists(settings, planned):
        return None
    return cassettes.load(settings.folder, planned.api, planned.name)


def compare_shapes(before: Sequence[Cassette], now: Sequence[Cassette]) -> Iterator[ShapeChange]:
    """Yield the shapes that occur in only one of the two sets of recordings, API by API."""
    for api in dict.fromkeys(cassette.api for cassette in (*before, *now)):
        old, new = (_find_shapes(each for each in side if each.api == api) for side in (before, now))
        for shape in sorted(new.keys() ^ old.keys()):
            is_new = shape in new
            yield ShapeChange(api, shape, is_new, new[shape] if is_new else old[shape])


def _find_shapes(recordings: Iterator[Cassette]) -> dict[Shape, str]:
    """Map each shape to the first recording that contains it."""
    found: dict[Shape, str] = {}
    for cassette in recordings:
        for shape in read_shapes(cassette):
            found.setdefault(shape, cassette.name)
    return found


def _plan_scenario(settings: ScenarioSettings, api: str, scenario: Scenario) -> Iterator[PlannedRequest]:
    endpoint = settings.endpoint
    recording = RECORDINGS.get(api)
    asked = RequestSettings(
        api=api,
        model=settings.model,
        key=settings.key,
        key_form=endpoint.key,
        headers=dict(recording.headers) if recording else {},
        host=get_host(settings.base_url),
        temperature=0 if endpoint.is_local else None,
    )
    request = build_request(asked, scenario, stream=True)
    request = replace(request, path=rewrite_path(request.path, endpoint))
    assert not isinstance(request.body, bytes), "the request of a scenario is an object"
    max_tokens = scenario.conversation.get("max_tokens", 0)
    try:
        estimate = prices.estimate(endpoint.prices, settings.model, request.body, max_tokens)
    except prices.NoPrice:
        estimate = None
    name = f"{endpoint.name}-{scenario.name}"
    for each in (name, name + AGAIN) if scenario.twice else (name,):
        yield PlannedRequest(
            api=api,
            name=each,
            scenario=scenario,
            request=request,
            max_tokens=max_tokens,
            estimate=estimate,
        )


def _calculate_cost(cassette: Cassette, settings: ScenarioSettings) -> Decimal | None:
    try:
        usage = draft.decode_cassette(cassette).usage
        return prices.calculate(settings.endpoint.prices, settings.model, usage)
    except (prices.NoPrice, ConformError):
        return None


def _exists(settings: ScenarioSettings, planned: PlannedRequest) -> bool:
    return (settings.folder / planned.api / f"{planned.name}.yaml").exists()
