"""What a spec or a cassette can have wrong beyond what loading finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from streamconform.errors import Problem, SelectionError, SourceError
from streamconform.model.case import Case, RoundTripCase
from streamconform.model.leaf import Literally
from streamconform.suite import cassettes
from streamconform.suite.load import LoadResult, Sources, collect, spec_files
from streamconform.suite.profiles import load_profiles

_METADATA_SUFFIX = ".yaml"


def lint_all(sources: Sources, *, strict: bool) -> tuple[int, list[Problem]]:
    """Return how many cases there are, and every problem of specs and cassettes, unused ones too."""
    loaded = collect(sources, spec_files(sources.specs))
    problems = list(loaded.problems)
    problems += _check_unused(sources, loaded)
    problems += _check_comparable(loaded)
    problems += _check_profiles(sources, loaded)
    if strict:
        problems += _check_finished(loaded)
    return len(loaded.cases), problems


def lint_paths(paths: Iterable[Path], sources: Sources, *, strict: bool) -> tuple[int, list[Problem]]:
    """Return the same for single files: specs (their cassettes too), or metadata of cassettes."""
    cases = 0
    problems: list[Problem] = []
    for path in paths:
        if path.is_dir():
            found, wrong = _lint_folder(path, sources, strict=strict)
        elif _is_cassette(path):
            found, wrong = 0, _lint_cassette(path)
        else:
            loaded = collect(_find_sources(path, sources), [path])
            found = len(loaded.cases)
            wrong = [
                *loaded.problems,
                *_check_comparable(loaded),
                *(_check_finished(loaded) if strict else ()),
            ]
        cases += found
        problems += wrong
    return cases, problems


def _lint_folder(path: Path, sources: Sources, *, strict: bool) -> tuple[int, list[Problem]]:
    beside = path.resolve().parent / "cassettes"
    own = Sources(path, beside if beside.is_dir() else sources.cassettes)
    if not spec_files(path):
        raise SelectionError(f"`{path}` holds no specs; expected <api>/<topic>.yaml in it")
    return lint_all(own, strict=strict)


def _find_sources(path: Path, sources: Sources) -> Sources:
    """Return the sources of a spec file: cassettes beside its `specs` folder, else those given."""
    root = path.resolve().parent.parent
    beside = root.parent / "cassettes"
    return Sources(root, beside if beside.is_dir() else sources.cassettes)


def _is_cassette(path: Path) -> bool:
    return path.resolve().parent.parent.name == "cassettes"


def _lint_cassette(path: Path) -> list[Problem]:
    home = path.resolve().parent
    try:
        cassettes.load(home.parent, home.name, path.stem)
    except SourceError as error:
        return list(error.problems)
    return []


def _check_unused(sources: Sources, loaded: LoadResult) -> Iterator[Problem]:
    """Yield cassettes that no case names, and files that belong to no cassette."""
    for home in sorted(path for path in sources.cassettes.glob("*") if path.is_dir()):
        names = {path.stem for path in home.glob(f"*{_METADATA_SUFFIX}")}
        for path in sorted(home.iterdir()):
            stem = path.name.partition(".")[0]
            if path.suffix == _METADATA_SUFFIX and (home.name, path.stem) not in loaded.used:
                yield Problem(str(path), None, "no case uses this cassette; write one, or delete it")
            elif stem not in names:
                yield Problem(
                    str(path), None, f"belongs to no cassette; `{stem}{_METADATA_SUFFIX}` is missing"
                )


def _check_comparable(loaded: LoadResult) -> Iterator[Problem]:
    """Yield expectations that, for what an implementation does not claim, could not be compared."""
    for case in loaded.cases:
        if isinstance(case, RoundTripCase):
            yield from _check_tool_results(case)
    for case in _list_stream_cases(loaded):
        content = case.expect.content or ()
        for block, after in pairwise(content):
            pair = (block.fields.get("text"), after.fields.get("text"))
            joined = block.type == after.type and block.type in ("text", "refusal")
            if joined and not all(isinstance(text, Literally) for text in pair):
                words = f"case `{case.id}`: neighbouring {block.type} blocks are one: no matcher there"
                yield Problem(case.path, case.line, words)
        for block in content:
            if block.type == "thinking" and "signature" in block.fields and "text" not in block.fields:
                words = f"case `{case.id}`: thinking with a `signature` names its `text` too, if empty"
                if block.fields.get("redacted") is None:
                    yield Problem(case.path, case.line, words)


def _list_stream_cases(loaded: LoadResult) -> Iterator[Case]:
    """Yield what has an expected outcome: cases of streams, and both answers of round trips."""
    for case in loaded.cases:
        match case:
            case Case():
                yield case
            case RoundTripCase(first=first, second=second):
                yield from (first, second)
            case _:
                pass


def _check_tool_results(case: RoundTripCase) -> Iterator[Problem]:
    """Yield results of no tool of the conversation, and those that no call of the first answer asks for."""
    given = [each["name"] for each in case.results]
    tools = {each["name"] for each in case.conversation.get("tools", ())}
    for name in dict.fromkeys(given):
        if name not in tools:
            words = f"case `{case.id}`: a result of `{name}`, which is no tool of the conversation"
            yield Problem(case.path, case.line, words)
    called = _list_client_calls(case.first)
    if called is not None and Counter(called) != Counter(given):
        words = f"case `{case.id}`: results of {', '.join(given)}; the first answer calls {', '.join(called)}"
        yield Problem(case.path, case.line, words)


def _list_client_calls(answer: Case) -> list[str] | None:
    """Return the names of the client's calls that are expected; None where not all are said literally."""
    if answer.expect.content is None:
        return None
    calls = [each.fields for each in answer.expect.content if each.type == "tool_call"]
    own = [each.get("name") for each in calls if each["executor"] == Literally("client")]
    names = [str(each.value) for each in own if isinstance(each, Literally)]
    return names if len(names) == len(own) else None


def _check_profiles(sources: Sources, loaded: LoadResult) -> tuple[Problem, ...]:
    """Return what is wrong with profiles; while a spec cannot be read nobody knows which cases there are."""
    if loaded.problems:
        return ()
    try:
        load_profiles(sources.specs, [case.id for case in loaded.cases])
    except SourceError as error:
        return error.problems
    return ()


def _check_finished(loaded: LoadResult) -> Iterator[Problem]:
    """Yield what a draft may leave out and the bundled suite may not."""
    for case in loaded.cases:
        if not case.reviewed:
            words = f"case `{case.id}` is a draft (`reviewed: false`): check it against the documentation"
            yield Problem(case.path, case.line, words)
        if not case.sources:
            yield Problem(case.path, case.line, f"case `{case.id}` names no `sources` for its expectation")
        if not case.tags:
            yield Problem(case.path, case.line, f"case `{case.id}` has no `tags`")
