"""Test releases of a peer's libraries to find the ones that introduced and fixed each finding."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from streamconform.adapters.connect import Connection
from streamconform.errors import ImplementationError
from streamconform.files import write_atomically
from streamconform.model.case import Case
from streamconform.model.result import TrialResult
from streamconform.model.trial import AnyTrial, Trial
from streamconform.suite.catalog import Catalog
from streamconform_dev.history import observe
from streamconform_dev.history.environment import build_command, install_release
from streamconform_dev.history.search import choose_release, summarize
from streamconform_dev.trials import run_trials
from streamconform_peers.findings import Finding
from streamconform_peers.history import FindingHistory, PeerHistory, State, format_history, read_history
from streamconform_peers.peer import Peer
from streamconform_peers.releases import Package, get_sort_key, list_packages, list_releases

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits on testing, which stops as soon as one is reached, even if untested releases remain."""

    releases: int
    """The maximum number of installations."""
    seconds: float
    keep: bool = False
    """Whether to keep the environments."""


@dataclass
class Tracer:
    """Traces the findings of one peer that are bugs in one of its libraries."""

    root: Path
    """The folder of all environments."""
    peer: Peer
    package: Package
    catalog: Catalog
    targets: Sequence[observe.Target]
    report: Report
    states: dict[str, dict[str, State]] = field(default_factory=dict)
    """The state of each tested release, by finding."""
    _symptoms: dict[str, observe.Symptom] = field(default_factory=dict)
    _controls: dict[str, list[AnyTrial]] = field(default_factory=dict)

    def trace(self, bounds: Bounds, save: Callable[[], None]) -> int:
        """Test releases within `bounds`, and call `save` after each; return how many were installed.

        Raises:
            ImplementationError: pip or npm is missing, or the pinned release cannot be tested.
        """
        pinned = list_packages(self.peer)[self.package.name]
        releases = self.list_releases()
        started, count = time.monotonic(), 0
        # Checked first, so that a finished history costs no installation.
        if not any(self._choose(releases, pinned, target) for target in self.targets):
            return 0
        with install_release(self.root, self.peer, self.package, pinned, keep=bounds.keep) as folder:
            self._set_baseline(asyncio.run(self._run(folder, self._list_candidates())), pinned)
        save()
        while count < bounds.releases and time.monotonic() - started < bounds.seconds:
            choices = (self._choose(releases, pinned, target) for target in self.targets)
            version = next((choice for choice in choices if choice is not None), None)
            if version is None:
                return count
            self._test(version, keep=bounds.keep)
            save()
            count += 1
        self.report(f"{self.package.name}: stopped after {count} releases; run it again to continue")
        return count

    def list_releases(self) -> tuple[str, ...]:
        """Return the releases listed by the index, and the pinned one."""
        pinned = list_packages(self.peer)[self.package.name]
        return tuple(sorted({*list_releases(self.package), pinned}, key=get_sort_key))

    def build_histories(self) -> list[FindingHistory]:
        """Return the results for each finding that the pinned release shows."""
        pinned = list_packages(self.peer)[self.package.name]
        releases = self.list_releases()
        return [
            entry
            for target in self.targets
            if (entry := self._build_history(target, releases, pinned)) is not None
        ]

    def _build_history(
        self, target: observe.Target, releases: Sequence[str], pinned: str
    ) -> FindingHistory | None:
        known = self.states.get(target.finding.slug, {})
        states = [known.get(release) for release in releases]
        span = summarize(states, releases.index(pinned))
        if span is None:
            return None
        before, after = span.absent_before, span.absent_after
        gaps = [
            span.oldest - before if before is not None else 1,
            after - span.newest if after is not None else 1,
        ]
        return FindingHistory(
            finding=target.finding.slug,
            package=self.package.name,
            trial=target.trial.id,
            oldest=releases[span.oldest],
            without=None if before is None else releases[before],
            fixed=None if after is None else releases[after],
            newest=states[-1],
            adjacent=gaps == [1, 1],
            steady=span.steady,
            releases={release: known[release] for release in releases if release in known},
        )

    def _choose(self, releases: Sequence[str], pinned: str, target: observe.Target) -> str | None:
        known = self.states.get(target.finding.slug, {})
        position = choose_release([known.get(release) for release in releases], releases.index(pinned))
        return None if position is None else releases[position]

    def _test(self, version: str, *, keep: bool) -> None:
        started = time.monotonic()
        reason = ""
        try:
            with install_release(self.root, self.peer, self.package, version, keep=keep) as folder:
                trials = [target.trial for target in self.targets]
                controls = [trial for group in self._controls.values() for trial in group]
                results = asyncio.run(self._run(folder, [*controls, *trials]))
            found = {target.finding.slug: self._judge(target, results) for target in self.targets}
        except ImplementationError as error:
            found = dict.fromkeys((target.finding.slug for target in self.targets), "unclear")
            reason = f": {str(error).splitlines()[-1][:160]}"
        for slug, state in found.items():
            self.states.setdefault(slug, {})[version] = state
        counts = ", ".join(
            f"{sum(state == name for state in found.values())} {name}"
            for name in ("present", "absent", "unclear")
        )
        seconds = time.monotonic() - started
        self.report(f"{self.peer.name}: {self.package.name} {version}: {counts} ({seconds:.0f} s){reason}")

    def _judge(self, target: observe.Target, results: Mapping[str, TrialResult]) -> State:
        """Return the state of a finding; `unclear` if a control fails too: the adapter may be broken."""
        symptom = self._symptoms.get(target.finding.slug)
        if symptom is None:
            return "unclear"
        state = observe.compare(results[target.trial.id], symptom)
        # The second control needs a tool call, so it says nothing about a trial without one.
        controls = self._controls.get(target.api, [])[: 2 if _expects_call(target.trial) else 1]
        works = all(results[control.id].verdict in {"pass", "warn"} for control in controls)
        # `absent` means that the trial itself passes, which shows that the adapter works.
        return state if works or state == "absent" else "unclear"

    def _list_candidates(self) -> list[AnyTrial]:
        """Return the targets' trials, and the trials that could serve as controls."""
        groups = [
            group
            for api in dict.fromkeys(target.api for target in self.targets)
            for group in observe.list_controls(self.catalog, api)
        ]
        return [*(trial for group in groups for trial in group), *(target.trial for target in self.targets)]

    def _set_baseline(self, results: Mapping[str, TrialResult], pinned: str) -> None:
        """Find out how each trial fails with the pinned release, and which controls pass."""
        for target in self.targets:
            symptom = observe.read_symptom(results[target.trial.id])
            slug = target.finding.slug
            if symptom is None:
                self.report(f"{self.peer.name}: {target.trial.id} does not fail with {pinned}")
            else:
                self._symptoms[slug] = symptom
            self.states.setdefault(slug, {})[pinned] = "absent" if symptom is None else "present"
            if target.api not in self._controls:
                groups = observe.list_controls(self.catalog, target.api)
                passing = [
                    [trial for trial in group if results[trial.id].verdict == "pass"] for group in groups
                ]
                self._controls[target.api] = [group[0] for group in passing if group]

    async def _run(self, folder: Path, trials: Sequence[AnyTrial]) -> Mapping[str, TrialResult]:
        command = build_command(self.root, self.peer, folder)
        return await run_trials(Connection(f"peer:{self.peer.name}", command), trials)


def trace_peer(
    root: Path,
    peer: Peer,
    catalog: Catalog,
    targets: Mapping[str, Sequence[observe.Target]],
    path: Path,
    bounds: Bounds,
    report: Report,
) -> PeerHistory:
    """Trace the findings in each of `peer`'s libraries, and store the results in the file `path`.

    Releases that are already in the file are not tested again. The file is written after each release.
    """
    earlier = read_history(path) if path.exists() else PeerHistory(peer=peer.name, newest={}, findings=())
    tracers = [
        Tracer(root, peer, Package(peer.language, name), catalog, group, report)
        for name, group in targets.items()
    ]
    for tracer in tracers:
        by_slug = {entry.finding: entry for entry in earlier.findings if entry.package == tracer.package.name}
        for target in tracer.targets:
            entry = by_slug.get(target.finding.slug)
            # States that were found with a different trial would mix with those of this one.
            if entry is not None and entry.trial == target.trial.id:
                tracer.states[target.finding.slug] = dict(entry.releases)

    def build() -> PeerHistory:
        return PeerHistory(
            peer=peer.name,
            newest={tracer.package.name: tracer.list_releases()[-1] for tracer in tracers},
            findings=tuple(entry for tracer in tracers for entry in tracer.build_histories()),
        )

    def save() -> None:
        write_atomically(path, format_history(build()).encode())

    left = bounds.releases
    started = time.monotonic()
    for tracer in tracers:
        seconds = bounds.seconds - (time.monotonic() - started)
        left -= tracer.trace(Bounds(left, seconds, bounds.keep), save)
    save()
    return build()


def find_targets(
    peer: Peer, catalog: Catalog, findings: Mapping[str, Finding], patterns: Mapping[str, Sequence[str]]
) -> dict[str, list[observe.Target]]:
    """Return the findings that are bugs in the peer's libraries, grouped by library, each with its trial.

    `patterns` maps each finding to the patterns in the peer's known failures.
    """
    targets: dict[str, list[observe.Target]] = {}
    packages = list_packages(peer)
    for slug, matching in patterns.items():
        library = findings[slug].find_package(peer, packages)
        trial = observe.choose_trial(catalog, findings[slug], matching)
        if library is not None and trial is not None:
            targets.setdefault(library, []).append(observe.Target(findings[slug], trial))
    return targets


def _expects_call(trial: AnyTrial) -> bool:
    expected = trial.expect.content if isinstance(trial, Trial) and isinstance(trial.case, Case) else None
    return any(block.type == "tool_call" for block in expected or ())
