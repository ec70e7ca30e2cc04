"""Select the cases and trials that a run judges: one value of settings in, one selection out.

The command line, pytest and the Python API select by the same rules; each of them makes `SelectionSettings`
from what it is given.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from streamconform.errors import SelectionError
from streamconform.files import read_regular
from streamconform.model.case import AnyCase, Case, CaseHead, Level
from streamconform.model.trial import (
    DELIVERIES,
    DELIVERY_SETS,
    FAULT_SETS,
    FAULTS,
    SAMPLED,
    AnyTrial,
    DeliverySet,
    FaultSet,
    Input,
    supported_inputs,
    update_id,
)
from streamconform.resources import find_bundled
from streamconform.suite.catalog import Catalog, read_catalog
from streamconform.suite.expand import expand
from streamconform.suite.load import Sources
from streamconform.suite.profiles import Profile, load_profile
from streamconform.suite.pulled import is_recorded
from streamconform.suite.select import (
    find_id,
    is_at_least,
    parse_shard,
    select_apis,
    select_ids,
    select_trials,
)
from streamconform.suite.sizes import is_optional, is_sized
from streamconform.user_cache import CORPUS, find_user_cache


@dataclass(frozen=True, slots=True)
class SelectionSettings:
    """What selects trials, by the names of `conform run`'s options; None means that nothing was given."""

    select: tuple[str, ...] = ()
    """The patterns of `-k`."""
    api: tuple[str, ...] = ()
    profile: str | None = None
    level: Level | None = None
    deliver: DeliverySet | None = None
    faults: FaultSet | None = None
    recorded: bool = False
    """Whether to select only the cases based on pulled recordings."""
    input: Input | None = None
    shard: str | None = None
    """`K/N`; checked last, so that a wrong pattern is reported before a wrong shard."""
    seed: int = 0
    specs: str | None = None
    """The folder of specs, as it was given: results repeat it."""
    cassettes: str | None = None

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> SelectionSettings:
        """Return the settings in `values`: options, a config file's settings, or the header of results.

        Their values have the right types. A list becomes a tuple; None and other names are ignored.
        """
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name in cls.__dataclass_fields__
            if (value := values.get(name)) is not None
        }
        return cls(**given)

    @property
    def is_part(self) -> bool:
        """Return whether only a part of the suite's cases is selected."""
        return bool(self.select or self.api or self.profile or self.level or self.shard)

    @property
    def includes_recorded(self) -> bool:
        """Return whether pulled recordings may be selected."""
        return self.recorded or any(map(is_recorded, self.select))

    @property
    def includes_sizes(self) -> bool:
        """Return whether the cases about sizes may be selected."""
        return any(map(is_sized, self.select))

    @property
    def least_level(self) -> Level:
        """Return the least strict level to select."""
        return self.level or "may"


def find_sources(settings: SelectionSettings) -> Sources:
    """Return the spec and cassette folders: configured, or `cassettes` next to the specs, or bundled."""
    specs, cassettes = settings.specs, settings.cassettes
    if specs and not cassettes:
        sibling = Path(specs).resolve().parent / "cassettes"
        cassettes = str(sibling) if sibling.is_dir() else None
    return Sources(
        Path(specs) if specs else find_bundled("specs"),
        Path(cassettes) if cassettes else find_bundled("cassettes"),
        find_corpus() if settings.includes_recorded else None,
        sizes=settings.includes_sizes,
    )


def find_corpus() -> Path:
    """Return the folder of pulled recordings."""
    return find_user_cache(None) / CORPUS


class Selection(Struct, frozen=True):
    """The catalog of the full suite, the selected trials, and the profile that selected them."""

    catalog: Catalog
    trials: tuple[AnyTrial, ...]
    profile: Profile | None = None

    def compute_digest(self) -> str:
        """Return a digest of the trial ids and of their cases' specs and bodies."""
        digest = hashlib.sha256("\n".join(trial.id for trial in self.trials).encode())
        cases = {trial.case.id: trial.case for trial in self.trials}
        for path in self.catalog.find_files(cases):
            digest.update(read_regular(path))
        for case in cases.values():
            if isinstance(case, Case):
                digest.update(case.cassette.body)
        return digest.hexdigest()[:16]


def select(settings: SelectionSettings, ids: frozenset[str] | None = None) -> Selection:
    """Return the trials that `settings` select; with `ids`, only those trials, in any delivery or fault.

    Raises `SourceError`, and `SelectionError` if nothing is selected, unless a shard or `ids` is given.
    """
    sources = find_sources(settings)
    if ids is not None:
        ids = frozenset(map(update_id, ids))
    catalog = read_catalog(add_optional(sources, ids or ()))
    profile = _find_profile(settings, catalog)
    deliveries, faults = _select_deliveries(settings, profile) if ids is None else (tuple(DELIVERIES), "all")
    sampled = SAMPLED if deliveries == DELIVERY_SETS["standard"] else ()
    names = (*deliveries, *(FAULTS if faults != "none" else ()))
    case_ids = _select_case_ids(settings, catalog, profile, names)
    if ids is not None:
        requested = {id_.partition("@")[0] for id_ in ids}
        case_ids = tuple(id_ for id_ in case_ids if id_ in requested)
    suite = catalog.load_suite(None if _is_whole(settings, catalog, case_ids) else case_ids)
    cases = (case for case in suite.cases if is_at_least(case.level, settings.least_level))
    # Input mode http has all the trials of bytes, and more. An implementation's input mode is known only
    # after it has started, so a run expands the trials for http and then drops those that the implementation
    # cannot run.
    expanded = expand(cases, deliveries, "http", settings.seed, faults, sampled, suite.names.get)
    may_be_empty = settings.shard is not None or ids is not None
    runnable = _list_runnable(expanded, settings.input)
    matching = select_trials(runnable, settings.select, lenient=may_be_empty)
    selected = tuple(trial for trial in matching if _is_requested(trial, settings, ids))
    if not (selected or may_be_empty):
        raise SelectionError("--api, --profile, --level and --deliver leave no trials; relax one of them")
    return Selection(catalog, selected, profile)


def add_optional(sources: Sources, ids: Collection[str]) -> Sources:
    """Return `sources` with the pulled recordings and the sizes, if any of `ids` is about one."""
    corpus = find_corpus() if any(map(is_recorded, ids)) else sources.corpus
    return structs.replace(sources, corpus=corpus, sizes=sources.sizes or any(map(is_sized, ids)))


def _is_whole(settings: SelectionSettings, catalog: Catalog, case_ids: tuple[str, ...]) -> bool:
    """Return whether the whole suite is read; then, a file without cases is also an error."""
    return not (settings.api or settings.select) and case_ids == catalog.ids


def _list_runnable(trials: Iterable[AnyTrial], mode: Input | None) -> Iterable[AnyTrial]:
    """Return the trials that an input mode can run."""
    return trials if mode is None else (trial for trial in trials if mode in supported_inputs(trial))


def _is_requested(trial: AnyTrial, settings: SelectionSettings, ids: frozenset[str] | None) -> bool:
    return is_at_least(trial.level, settings.least_level) and (ids is None or trial.id in ids)


def select_heads(settings: SelectionSettings) -> tuple[CaseHead, ...]:
    """Return the heads of the cases that `--api`, `--profile`, `--level` and `--shard` select.

    Raises `SourceError`, and `SelectionError` if nothing is selected, unless a shard is given.
    """
    catalog = read_catalog(find_sources(settings))
    case_ids = _select_case_ids(settings, catalog, _find_profile(settings, catalog))
    level = settings.least_level
    heads = tuple(head for head in catalog.load_heads(case_ids) if is_at_least(head.level, level))
    if not (heads or settings.shard):
        raise SelectionError("--api, --profile and --level leave no cases; relax one of them")
    return heads


def _find_profile(settings: SelectionSettings, catalog: Catalog) -> Profile | None:
    if settings.profile is None:
        return None
    ids = tuple(id_ for id_ in catalog.ids if not is_optional(id_))
    return load_profile(catalog.sources.specs, settings.profile, ids)


def _select_case_ids(
    settings: SelectionSettings, catalog: Catalog, profile: Profile | None, deliveries: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the ids of the cases that may have a selected trial; `deliveries` includes the faults."""
    try:
        return _filter_case_ids(
            catalog.list_ids(settings.api, settings.select), settings, profile, deliveries
        )
    except SelectionError:
        # The pattern is wrong. The message lists the closest names, which may be in any file.
        return _filter_case_ids(catalog.ids, settings, profile, deliveries)


def _filter_case_ids(
    ids: tuple[str, ...], settings: SelectionSettings, profile: Profile | None, deliveries: Sequence[str]
) -> tuple[str, ...]:
    case_ids = select_apis(ids, settings.api)
    if settings.recorded:
        case_ids = tuple(id_ for id_ in case_ids if is_recorded(id_))
    if profile is not None:
        profile_ids = set(profile.cases)
        case_ids = tuple(id_ for id_ in case_ids if id_ in profile_ids)
    case_ids = select_ids(case_ids, settings.select, deliveries)
    # Last, so that a pattern is not reported as wrong only because its cases are in another shard.
    shard = parse_shard(settings.shard) if settings.shard else None
    return tuple(id_ for id_ in case_ids if shard is None or shard.includes(id_))


def _select_deliveries(
    settings: SelectionSettings, profile: Profile | None
) -> tuple[tuple[str, ...], FaultSet]:
    """Return the deliveries and the faults; each option overrides the profile's setting."""
    name = settings.deliver or "standard"
    deliveries, faults = DELIVERY_SETS[name], FAULT_SETS[name]
    if profile is not None and profile.deliveries is not None and settings.deliver is None:
        deliveries = profile.deliveries
    if profile is not None and profile.faults is not None:
        faults = profile.faults
    return deliveries, settings.faults or faults


def find_case(name: str, settings: SelectionSettings) -> AnyCase:
    """Return the case whose id is or ends with `name`. Raises `SourceError` and `SelectionError`."""
    catalog = read_catalog(add_optional(find_sources(settings), (name,)))
    (case,) = catalog.load((_find_case_id(name, catalog),))
    if isinstance(case, Case) and case.unavailable is not None:
        raise SelectionError(f"the recording of `{case.id}` is not in {find_corpus()}; {case.unavailable}")
    return case


def _find_case_id(name: str, catalog: Catalog) -> str:
    try:
        return find_id(name, catalog.list_ids_ending(name.partition("@")[0]))
    except SelectionError:
        return find_id(name, catalog.ids)  # its message lists the closest names in all files
