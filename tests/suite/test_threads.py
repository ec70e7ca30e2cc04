"""The table of threads: how it is read, and which guards lint rejects."""

from __future__ import annotations

import pytest

from streamconform.errors import SourceError
from streamconform.model.case import AnyCase, RoundTripCase
from streamconform.resources import find_bundled
from streamconform.suite.kinds import find_path, read_kinds
from streamconform.suite.lint import lint_all, lint_paths
from streamconform.suite.load import Sources
from streamconform.suite.threads import Thread, read_threads

from .. import bundled_suite

THREADS = """\
threads: 1
entries:
  owner/repo#1:
    says: The object is lost.
    kinds: [partial-value-wrong]
    paths: [function]
    read: 2026-11-22
    opinion: "fixed: in version 2"
  owner/repo#2:
    not_found: 2026-11-23
    searches: [repo 2, the object is lost]
  owner/repo#3:
    says: A call is lost.
    kinds: [part-lost]
    apis: [openai-chat]
    paths: [stream, document]
    read: 2026-11-22
"""
SPEC = """\
spec: 1
kind: partial
topic: partial
cases:
  - id: open-brace
    title: An object that has begun
    input: "{"
    level: should
    tags: [object]
    sources: [https://example.org/a]
    guards: [owner/repo#1]
    expect: {output: {}}
"""
CASE = "case `common/partial/open-brace`: "


@pytest.fixture
def suite(tmp_path):
    """Return a function that writes a suite, with a text replaced in the table and guards in the case."""

    def write(old="", new="", guards="owner/repo#1"):
        specs = tmp_path / "specs"
        (specs / "common").mkdir(parents=True, exist_ok=True)
        (specs / "kinds.yaml").write_text((find_bundled("specs") / "kinds.yaml").read_text())
        (specs / "threads.yaml").write_text(THREADS.replace(old, new) if old else THREADS)
        (specs / "common/partial.yaml").write_text(SPEC.replace("owner/repo#1", guards))
        return Sources(specs, tmp_path / "cassettes")

    return write


def messages(sources, *, strict=True):
    return [problem.message for problem in lint_all(sources, strict=strict)[1]]


def test_each_thread_is_read_with_its_line(suite):
    specs = suite().specs
    path = str(specs / "threads.yaml")
    assert read_threads(specs) == {
        "owner/repo#1": Thread(
            says="The object is lost.",
            looked_up="2026-11-22",
            kinds=("partial-value-wrong",),
            paths=("function",),
            opinion="fixed: in version 2",
            path=path,
            line=3,
        ),
        "owner/repo#2": Thread(says=None, looked_up="2026-11-23", path=path, line=9),
        "owner/repo#3": Thread(
            says="A call is lost.",
            looked_up="2026-11-22",
            kinds=("part-lost",),
            apis=("openai-chat",),
            paths=("stream", "document"),
            path=path,
            line=12,
        ),
    }


def test_a_suite_may_have_no_table(suite):
    specs = suite().specs
    (specs / "threads.yaml").unlink()
    assert read_threads(specs) == {}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    not_found:", "    says: It may be lost.\n    not_found:", "owner/repo#2"),
        ("    searches: [repo 2, the object is lost]\n", "", "searches"),
        ("    kinds: [part-lost]\n", "", "kinds"),
        ("[part-lost]", "[part-lost, text-lost, calls-merged]", "kinds"),
        ("[stream, document]", "[streams]", "streams"),
        ("fixed: in version 2", "open", "opinion"),
        ("[openai-chat]", "[open-chat]", "no API `open-chat`"),
        ("owner/repo#3", "Another/repo#3", "`Another/repo#3` belongs before `owner/repo#2`"),
    ],
)
def test_a_mistake_in_the_table_is_named_with_its_line(suite, old, new, message):
    with pytest.raises(SourceError) as caught:
        read_threads(suite(old, new).specs)
    (problem,) = caught.value.problems
    assert message in str(problem)
    assert problem.line
    assert str(problem) in map(str, lint_all(suite(old, new), strict=False)[1])


@pytest.mark.parametrize(
    ("guard", "message"),
    [
        ("owner/other#9", "`owner/other#9` is not in `threads.yaml`; read the thread and add it"),
        ("owner/repo#2", "`owner/repo#2` was not found on 2026-11-23; remove it"),
        ("owner/repo#3", "`owner/repo#3` is not about a function that belongs to no API"),
    ],
)
def test_a_guard_needs_a_thread_that_was_read_and_is_about_the_code_of_the_case(suite, guard, message):
    sources = suite(guards=f"owner/repo#1, {guard}")
    assert CASE + message in messages(sources)
    assert CASE + message not in messages(sources, strict=False)
    found = lint_paths([sources.specs / "common/partial.yaml"], sources, strict=True)[1]
    assert [problem.message for problem in found] == [CASE + message]


def test_a_thread_about_one_api_guards_no_case_of_another():
    apis = ("openai-chat", "ollama-chat")
    thread = Thread("A call is lost.", "2026-11-22", ("part-lost",), apis, ("stream",))
    cases = {case.api: case for case in bundled_suite.streams()}
    assert thread.find_misfit(cases["ollama-chat"]) is None
    misfit = thread.find_misfit(cases["cohere-chat"])
    assert misfit == "is about openai-chat and ollama-chat, and not about cohere-chat"


def test_a_source_is_no_thread_that_was_not_found(suite):
    sources = suite()
    spec = sources.specs / "common/partial.yaml"
    spec.write_text(SPEC.replace("https://example.org/a", "https://github.com/owner/repo/issues/2"))
    message = CASE + "`https://github.com/owner/repo/issues/2` was not found on 2026-11-23; remove it"
    assert message in messages(sources)
    assert message not in messages(sources, strict=False)


def test_a_thread_about_one_api_is_no_source_for_a_case_of_another():
    cases = {case.api: case for case in bundled_suite.streams()}
    thread = Thread("A call is lost.", "2026-11-22", ("part-lost",), ("anthropic-messages",), ("request",))
    misfits = {api: thread.find_misfit_as_source(case) for api, case in cases.items()}
    assert misfits["openai-chat"] == "is about anthropic-messages, and not about openai-chat"
    assert misfits["anthropic-messages"] is None
    assert misfits["bedrock-invoke"] is None, "its bodies are Anthropic's"


@pytest.mark.parametrize(
    ("path", "guarded"),
    [
        ("stream", {"stream", "round trip"}),
        ("document", {"document", "round trip"}),
        ("request", {"request", "round trip"}),
        ("replay", {"request", "round trip"}),
        ("behavior", {"behavior"}),
        ("server", {"stream", "document", "round trip"}),
        ("function", set()),
    ],
)
def test_a_thread_guards_only_cases_that_can_notice_its_bug(path, guarded):
    thread = Thread("A call is lost.", "2026-11-22", ("part-lost",), ("openai-chat",), (path,))
    cases = {_name_path(case): case for case in bundled_suite.cases() if case.api == "openai-chat"}
    assert cases.keys() == {"stream", "document", "request", "round trip", "behavior"}
    assert {name for name, case in cases.items() if thread.find_misfit(case) is None} == guarded
    assert thread.find_misfit(cases["request"]) in (
        None,
        f"is about the path {path}, and not about request or replay",
    )


def _name_path(case: AnyCase) -> str:
    return "round trip" if isinstance(case, RoundTripCase) else str(find_path(case))


def test_a_thread_that_guards_nothing_is_deleted_unless_it_was_not_found(suite):
    found = messages(suite(), strict=False)
    assert found == ["no case guards against `owner/repo#3`; delete the thread"]


def test_an_unknown_kind_is_named_with_a_similar_one(suite):
    found = messages(suite("[part-lost]", "[part-lots]"), strict=False)
    assert "`owner/repo#3`: no kind `part-lots` in `kinds.yaml`; did you mean `part-lost`?" in found


def test_the_threads_of_the_bundled_suite_were_read_or_searched_for():
    threads = read_threads(find_bundled("specs"))
    kinds = read_kinds(find_bundled("specs")).entries
    assert len(threads) > 800
    for name, thread in threads.items():
        assert (thread.says is None) == (not thread.kinds), name
        assert {*thread.kinds} <= kinds.keys(), name
        assert thread.says is None or bool(thread.apis) == (thread.paths != ("function",)), name
