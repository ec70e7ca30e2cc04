"""Find mistakes in specs and cassettes that loading them does not report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final

from streamconform.errors import Problem, SelectionError, SourceError
from streamconform.model.case import AnyCase, Case, RoundTripCase
from streamconform.model.cassette import Pulled
from streamconform.model.leaf import Digest, Literally
from streamconform.suggestions import suggest
from streamconform.suite import cassettes
from streamconform.suite.evidence import Fact, read_facts
from streamconform.suite.kinds import read_kinds
from streamconform.suite.load import LoadResult, Sources, collect, list_spec_files
from streamconform.suite.profiles import load_profiles
from streamconform.suite.sizes import is_optional
from streamconform.suite.threads import Thread, name_thread, read_threads

_METADATA_SUFFIX: Final = ".yaml"


def lint_all(sources: Sources, *, strict: bool) -> tuple[int, list[Problem]]:
    """Return the number of cases, and every problem found in specs, cassettes and profiles.

    A cassette without a case is a problem. With `strict`, these are problems too: an unreviewed case, a case
    without sources or tags, a `must` without evidence, a guard against a bug that no thread describes or that
    is another API's, and a source that is such a thread.
    """
    loaded = collect(sources, list_spec_files(sources.specs, recorded=True, sizes=True))
    problems = list(loaded.problems)
    problems += _check_unused(sources, loaded)
    problems += _check_comparable(loaded)
    problems += _check_profiles(sources, loaded)
    problems += _check_evidence(sources, loaded, whole=True)
    problems += _check_threads(sources, loaded, whole=True, strict=strict)
    if strict:
        problems += _check_finished(loaded)
    return len(loaded.cases), problems


def lint_paths(paths: Iterable[Path], sources: Sources, *, strict: bool) -> tuple[int, list[Problem]]:
    """Like `lint`, but only for `paths`: specs with their cassettes, cassette metadata, or folders."""
    total = 0
    problems: list[Problem] = []
    for path in paths:
        if path.is_dir():
            count, path_problems = _lint_folder(path, sources, strict=strict)
        elif is_cassette(path):
            count, path_problems = 0, _lint_cassette(path)
        else:
            count, path_problems = _lint_spec(path, sources, strict=strict)
        total += count
        problems += path_problems
    return total, problems


def _lint_folder(path: Path, sources: Sources, *, strict: bool) -> tuple[int, list[Problem]]:
    if not list_spec_files(path, recorded=True, sizes=True):
        raise SelectionError(f"no specs in `{path}`; expected files <api>/<topic>.yaml")
    return lint_all(Sources(path, _find_cassettes(path.resolve(), sources)), strict=strict)


def _lint_spec(path: Path, sources: Sources, *, strict: bool) -> tuple[int, list[Problem]]:
    specs = path.resolve().parent.parent
    beside = Sources(specs, _find_cassettes(specs, sources))
    loaded = collect(beside, [path])
    problems = [*loaded.problems, *_check_comparable(loaded)]
    problems += _check_evidence(beside, loaded, whole=False)
    problems += _check_threads(beside, loaded, whole=False, strict=strict)
    if strict:
        problems += _check_finished(loaded)
    return len(loaded.cases), problems


def _find_cassettes(specs: Path, sources: Sources) -> Path:
    """Return the `cassettes` folder next to `specs` if there is one, otherwise `sources.cassettes`."""
    beside = specs.parent / "cassettes"
    return beside if beside.is_dir() else sources.cassettes


def is_cassette(path: Path) -> bool:
    """Return whether `path` is the metadata of a cassette, rather than a spec."""
    return path.resolve().parent.parent.name == "cassettes"


def _lint_cassette(path: Path) -> list[Problem]:
    api_folder = path.resolve().parent
    try:
        cassettes.load(api_folder.parent, api_folder.name, path.stem)
    except SourceError as error:
        return list(error.problems)
    return []


def _check_unused(sources: Sources, loaded: LoadResult) -> Iterator[Problem]:
    """Yield a problem for each cassette without a case, and for each file without a cassette."""
    for folder in sorted(path for path in sources.cassettes.glob("*") if path.is_dir()):
        names = {path.stem for path in folder.glob(f"*{_METADATA_SUFFIX}")}
        for path in sorted(folder.iterdir()):
            stem = path.name.partition(".")[0]
            if path.suffix == _METADATA_SUFFIX and (folder.name, path.stem) not in loaded.used:
                yield Problem(
                    str(path), None, "no case uses this cassette; add a case or delete the cassette"
                )
            elif stem not in names:
                message = f"this file belongs to no cassette: `{stem}{_METADATA_SUFFIX}` is missing"
                yield Problem(str(path), None, message)


def _check_comparable(loaded: LoadResult) -> Iterator[Problem]:
    """Yield a problem for each expectation that cannot be compared without a certain capability."""
    for case in loaded.cases:
        if isinstance(case, RoundTripCase):
            yield from _check_tool_results(case)
    for case in _list_stream_cases(loaded):
        content = case.expect.content or ()
        for block, following in pairwise(content):
            # Without the claim that separates them, two adjacent blocks are compared as one joined text, and
            # matchers cannot be joined.
            texts = (block.fields.get("text"), following.fields.get("text"))
            can_join = block.type == following.type and block.type in ("text", "refusal")
            if can_join and not all(isinstance(text, Literally | Digest) for text in texts):
                yield _report(
                    case, f"adjacent {block.type} blocks may be joined; do not use matchers in them"
                )
        for block in content:
            # Without the claim `signatures`, the text alone decides whether the block is compared at all.
            signed = block.type == "thinking" and "signature" in block.fields
            if signed and "text" not in block.fields and block.fields.get("redacted") is None:
                yield _report(case, "a thinking block with a `signature` needs a `text`, even if empty")


def _list_stream_cases(loaded: LoadResult) -> Iterator[Case]:
    """Yield all trials with an expected outcome: stream cases, and both answers of round trips."""
    for case in loaded.cases:
        match case:
            case Case():
                yield case
            case RoundTripCase(answers=answers):
                yield from answers
            case _:
                pass


def _check_tool_results(case: RoundTripCase) -> Iterator[Problem]:
    """Yield a problem for each tool result whose tool is not declared, or not called in its answer."""
    tools = {tool["name"] for tool in case.conversation.get("tools", ())}
    given = [[result["name"] for result in turn.results] for turn in case.turns]
    for name in dict.fromkeys(name for names in given for name in names):
        if name not in tools:
            yield _report(case, f"there is a result for `{name}`, but the conversation has no such tool")
    for number, (names, answer) in enumerate(zip(given, case.answers, strict=False), 1):
        calls = _list_client_calls(answer)
        if calls is not None and Counter(calls) != Counter(names):
            made, wanted = (", ".join(each) or "nothing" for each in (names, calls))
            yield _report(case, f"the results are for {made}, but answer {number} calls {wanted}")


def _list_client_calls(answer: Case) -> list[str] | None:
    """Return the expected names of the client's calls, or None if one of them is not a literal."""
    if answer.expect.content is None:
        return None
    calls = [block.fields for block in answer.expect.content if block.type == "tool_call"]
    client_calls = [fields.get("name") for fields in calls if fields["executor"] == Literally("client")]
    names = [str(name.value) for name in client_calls if isinstance(name, Literally)]
    return names if len(names) == len(client_calls) else None


def _check_profiles(sources: Sources, loaded: LoadResult) -> tuple[Problem, ...]:
    if loaded.problems:  # the list of cases is incomplete, so profiles would seem to name unknown cases
        return ()
    try:
        load_profiles(sources.specs, [case.id for case in loaded.cases if not is_optional(case.id)])
    except SourceError as error:
        return error.problems
    return ()


def _check_evidence(sources: Sources, loaded: LoadResult, *, whole: bool) -> Iterator[Problem]:
    """Yield cases that cite unknown facts; with `whole`, also facts that no case of the suite cites."""
    unused: dict[str, Problem] = {}
    named: set[str] = set()
    by_api: dict[str, list[AnyCase]] = {}
    for case in loaded.cases:
        by_api.setdefault(case.id.partition("/")[0], []).append(case)
    for api, cases in by_api.items():
        try:
            facts = read_facts(sources.specs, api)
        except SourceError as error:
            yield from error.problems
            continue
        for case in cases:
            named.update(case.evidence)
            yield from _check_case_evidence(case, facts)
        for name, fact in facts.items():
            message = f"no case names the fact `{name}`; delete it or cite it"
            unused[name] = Problem(fact.path, fact.line, message)
    # A case that could not be loaded may be the only one that cites a fact.
    if whole and not loaded.problems:
        yield from (problem for name, problem in unused.items() if name not in named)


def _check_case_evidence(case: AnyCase, facts: Mapping[str, Fact]) -> Iterator[Problem]:
    for name in case.evidence:
        if name not in facts:
            yield _report(case, f"no fact `{name}` in `evidence/`{suggest(name, facts)}")


def _check_threads(sources: Sources, loaded: LoadResult, *, whole: bool, strict: bool) -> Iterator[Problem]:
    """Yield threads of unknown kinds, and, with `strict`, guards and sources that the table does not support.

    With `whole`, a thread that no case of the suite guards against is a problem too.
    """
    try:
        threads = read_threads(sources.specs)
        kinds = read_kinds(sources.specs).entries if threads else {}
    except SourceError as error:
        yield from error.problems
        return
    for bug, thread in threads.items():
        for kind in thread.kinds:
            if kind not in kinds:
                message = f"`{bug}`: no kind `{kind}` in `kinds.yaml`{suggest(kind, kinds)}"
                yield Problem(thread.path, thread.line, message)
    if strict:
        for case in loaded.cases:
            yield from _check_cited(case, threads)
    if whole and not loaded.problems:
        guarded = {bug for case in loaded.cases for bug in case.guards}
        for bug, thread in threads.items():
            if bug not in guarded and thread.says is not None:
                message = f"no case guards against `{bug}`; delete the thread"
                yield Problem(thread.path, thread.line, message)


def _check_cited(case: AnyCase, threads: Mapping[str, Thread]) -> Iterator[Problem]:
    for bug in case.guards:
        if bug not in threads:
            yield _report(case, f"`{bug}` is not in `threads.yaml`; read the thread and add it")
        elif misfit := threads[bug].find_misfit(case):
            yield _report(case, f"`{bug}` {misfit}")
    for source in case.sources:
        thread = threads.get(name_thread(source) or "")
        if thread and (misfit := thread.find_misfit_as_source(case)):
            yield _report(case, f"`{source}` {misfit}")


def _check_finished(loaded: LoadResult) -> Iterator[Problem]:
    """Yield the missing fields that a draft may omit but that a bundled case needs."""
    for case in loaded.cases:
        if isinstance(case, Case) and isinstance(case.cassette.provenance, Pulled):
            continue  # The recording itself is its evidence.
        if not case.reviewed:
            yield _report(case, "it is a draft (`reviewed: false`); check it against the documentation")
        if case.level == "must" and not case.evidence:
            message = (
                "a `must` without `evidence`; cite the facts that support it, or lower its level to `should`"
            )
            yield _report(case, message)
        elif not (case.sources or case.evidence):
            yield _report(case, "the expectation has neither `evidence` nor `sources`")
        if not case.tags:
            yield _report(case, "no `tags`")


def _report(case: AnyCase, message: str) -> Problem:
    return Problem(case.path, case.line, f"case `{case.id}`: {message}")
