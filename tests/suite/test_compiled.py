"""What is kept of the parsed suite changes nothing: a changed file is seen, and damage does no harm."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace

import pytest

from streamconform.errors import SourceError
from streamconform.model.case import BehaviorCase, CallCase
from streamconform.model.trial import AS_IS, DELIVERY_SETS, SAMPLED
from streamconform.suite import cassettes, compiled, expand, selection
from streamconform.suite.catalog import read_catalog
from streamconform.suite.load import Sources, collect, list_spec_files, load, load_heads
from streamconform.suite.selection import SelectionSettings, select
from streamconform.yaml_text import reader
from tests.bundled_suite import SOURCES, cases, sample
from tests.harness import builders

SPEC = """\
spec: 1
api: anthropic-messages
topic: {topic}
cases:
  - id: small
    title: A small answer
    cassette: small
    expect:
      status: complete
      stop: stop
      content: [{{text: hello}}]
"""
CASES = [case for case in cases() if case.api in (None, "cohere-chat")]
SETTINGS = SelectionSettings()
TOPICS = ("t0", "t1", "t2", "t3")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("CONFORM_CACHE", str(folder))
    return folder / compiled.FOLDER


@pytest.fixture
def sources(tmp_path, cache, monkeypatch):
    """A small suite in the place of the bundled one."""
    assert not cache.exists()
    made = Sources(tmp_path / "specs", tmp_path / "cassettes")
    (made.specs / builders.ANTHROPIC).mkdir(parents=True)
    cassettes.save(made.cassettes, builders.cassette())
    for topic in TOPICS:
        write(made, topic)
    for module in (compiled, selection):
        monkeypatch.setattr(module, "find_bundled", lambda kind: tmp_path / kind)
    return made


@pytest.fixture
def parsed(monkeypatch):
    """The names of the files that are parsed."""
    names = []
    parse = reader.parse

    def count(data, name):
        names.append(name.rpartition("/")[2])
        return parse(data, name)

    monkeypatch.setattr(reader, "parse", count)
    return names


def list_fields(value):
    """Return the fields of cases, and of the cases and cassettes in them: lazy ones are of other classes."""
    if isinstance(value, tuple | list):
        return [*map(list_fields, value)]
    if isinstance(value, dict):
        return {key: list_fields(member) for key, member in value.items()}
    if not is_dataclass(value):
        return value
    return {field.name: list_fields(getattr(value, field.name)) for field in fields(value)}


def write(sources, topic, text=SPEC):
    path = sources.specs / builders.ANTHROPIC / f"{topic}.yaml"
    path.write_text(text.format(topic=topic), "utf-8")
    return path


def keep(parsed):
    """Select from the suite for the first time, and return the folder of the files that were kept."""
    select(SETTINGS)
    parsed.clear()
    (folder,) = (compiled.find_user_cache(None) / compiled.FOLDER).iterdir()
    return folder


def load_heads_of(sources, cases):
    files, ids = list_spec_files(sources.specs), [case.id for case in cases]
    return load_heads(sources, files, ids, compiled.find_store(sources.specs))


def test_a_suite_is_parsed_once(sources, parsed):
    first = load(sources)
    assert sorted(parsed) == ["small.yaml", *(f"{topic}.yaml" for topic in TOPICS)]
    parsed.clear()
    assert list_fields(load(sources)) == list_fields(first)
    assert [head.title for head in load_heads_of(sources, first)] == ["A small answer"] * len(TOPICS)
    assert read_catalog(sources).ids == tuple(case.id for case in first)
    assert parsed == []


@pytest.mark.usefixtures("sources")
def test_only_what_selecting_needs_is_made_before_a_case_is_used(parsed, monkeypatch):
    keep(parsed)
    made = []
    build = compiled.build_case
    monkeypatch.setattr(
        compiled, "build_case", lambda *given: made.append(given[1]["title"]) or build(*given)
    )
    selection = select(SETTINGS)
    assert selection.compute_digest()
    assert made == []
    assert {trial.case.title for trial in selection.trials} == {"A small answer"}
    assert len(made) == len(TOPICS)


def test_a_lazy_case_can_be_replaced_and_has_no_other_attributes(sources, parsed):
    keep(parsed)
    case = load(sources)[0]
    assert replace(case, title="Other").title == "Other"
    assert replace(case, title="Other").cassette.status == case.cassette.status
    with pytest.raises(AttributeError, match="missing"):
        _ = case.missing


def test_a_changed_spec_is_seen_and_only_its_files_are_parsed(sources, parsed):
    keep(parsed)
    write(sources, "t3", SPEC.replace("A small", "Another"))
    assert [case.title for case in load(sources)].count("Another answer") == 1
    assert parsed == ["t3.yaml", "small.yaml"]
    parsed.clear()
    load(sources)
    assert parsed == []


def test_a_changed_cassette_and_a_changed_body_are_seen(sources, parsed):
    keep(parsed)
    path = cassettes.save(sources.cassettes, builders.cassette(b"data: {}\n\n"))
    parsed.clear()
    assert {case.cassette.body for case in load(sources)} == {b"data: {}\n\n"}
    assert parsed.count("small.yaml") == 1
    path.with_suffix(".sse").write_bytes(b"data: []\n\n")
    with pytest.raises(SourceError, match="was changed"):
        load(sources)


def test_an_added_and_a_removed_spec_are_seen(sources, parsed):
    keep(parsed)
    write(sources, "added")
    (sources.specs / builders.ANTHROPIC / "t0.yaml").unlink()
    topics = [case.id.split("/")[1] for case in load(sources)]
    assert topics == ["added", *TOPICS[1:]]


def test_a_changed_spec_takes_the_place_of_the_earlier_one(sources, parsed):
    folder = keep(parsed)
    for number in range(3):
        write(sources, "t3", SPEC.replace("A small", f"A{number:06}"))
        select(SETTINGS)
        assert len([*folder.rglob("*.*")]) == len(TOPICS)


def test_a_spec_is_kept_only_if_all_its_cases_are_loaded(sources, cache, parsed):
    again = SPEC.partition("cases:\n")[2].replace("id: small", "id: again")
    path = write(sources, "t0", SPEC + again)
    for ids, kept in ((["again"], 0), (["again", "small"], 1)):
        assert len(load(sources, [path], [f"{builders.ANTHROPIC}/t0/{name}" for name in ids])) == len(ids)
        assert len([*cache.rglob("*.*")]) == kept
    parsed.clear()
    (case,) = load(sources, [path], [f"{builders.ANTHROPIC}/t0/again"])
    assert (case.title, parsed) == ("A small answer", [])


def flip(data, place):
    return data[:place] + bytes((data[place] ^ 1,)) + data[place + 1 :]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:0],
        lambda data: data[:-1],
        lambda data: data + b" ",
        lambda data: flip(data, 0),
        lambda data: flip(data, data.index(b"A small") + 2),
        lambda data: flip(data, len(data) - 1),
    ],
    ids=["empty", "cut", "longer", "digest", "value", "end"],
)
@pytest.mark.usefixtures("sources")
def test_a_damaged_file_is_written_again(parsed, damage):
    path = keep(parsed) / builders.ANTHROPIC / "t3.msgpack"
    data = path.read_bytes()
    path.write_bytes(damage(data))
    assert [trial.case.title for trial in select(SETTINGS).trials if trial.delivery == AS_IS] == [
        "A small answer"
    ] * len(TOPICS)
    assert parsed == ["t3.yaml", "small.yaml"]
    assert path.read_bytes() == data


def test_after_a_change_of_the_code_everything_is_parsed_again(sources, parsed, monkeypatch):
    keep(parsed)
    monkeypatch.setattr(compiled, "_compute_code_digest", lambda: b"other")
    load(sources)
    assert len(parsed) == len(TOPICS) + 1


def test_the_digest_of_the_code_covers_every_module_that_it_names():
    root = compiled.Path(compiled.__file__).parents[1]
    modules = [path for path in root.rglob("*.py") if path.relative_to(root).parts[0] in compiled._PARSERS]
    folders = {path.parent for path in modules}
    assert folders == {root / name for name in compiled._PARSERS}


def test_without_a_writable_cache_the_suite_is_loaded(sources, cache, parsed):
    cache.parent.write_text("a file, where a folder should be")
    assert len(load(sources)) == len(TOPICS)
    assert len(load(sources)) == len(TOPICS)
    assert len(parsed) == 2 * (len(TOPICS) + 1)


def test_nothing_is_kept_of_another_suite(sources, cache, monkeypatch):
    monkeypatch.setattr(compiled, "find_bundled", lambda _: sources.specs / "other")
    load(sources)
    assert not cache.exists()


def test_problems_found_in_a_kept_spec_have_their_lines(sources, parsed):
    keep(parsed)
    (sources.cassettes / builders.ANTHROPIC / "small.yaml").unlink()
    with pytest.raises(SourceError) as caught:
        load(sources)
    lines = {
        problem.line for problem in caught.value.problems if problem.message.startswith("cassette `small`")
    }
    assert lines == {7}


def test_a_file_next_to_the_specs_is_used_and_the_users_cache_is_not(sources, cache, parsed):
    keep(parsed).rename(sources.specs.parent / compiled.NAME)
    cache.rmdir()
    load(sources)
    assert parsed == []
    assert not cache.exists()


@pytest.fixture
def listed(monkeypatch):
    """The ids of the cases whose trials are listed."""
    ids = []
    list_names = expand.list_trial_names
    monkeypatch.setattr(compiled, "list_trial_names", lambda case: ids.append(case.id) or list_names(case))
    return ids


def test_trials_are_listed_once_and_again_for_a_changed_spec(sources, listed):
    first = select(SETTINGS)
    assert len(listed) == len(TOPICS)
    listed.clear()
    assert [trial.id for trial in select(SETTINGS).trials] == [trial.id for trial in first.trials]
    assert listed == []
    write(sources, "t3", SPEC.replace("status:", "status: "))
    select(SETTINGS)
    assert listed == [f"{builders.ANTHROPIC}/t3/small"]
    listed.clear()
    cassettes.save(sources.cassettes, builders.cassette(builders.sse_body([{"type": "ping"}])))
    select(SETTINGS)
    assert len(listed) == len(TOPICS)


def test_integers_of_any_size_are_kept(sources, parsed):
    cassette, number = builders.cassette(), 10**30
    cassettes.save(
        sources.cassettes, replace(cassette, request=replace(cassette.request, body={"seed": number}))
    )
    keep(parsed)
    assert {case.cassette.request.body["seed"] for case in load(sources)} == {number}
    assert parsed == []


@pytest.mark.slow
def test_the_bundled_suite_is_the_same_parsed_and_kept(cache, parsed):
    files = sample(list_spec_files(SOURCES.specs))
    first = list_fields(collect(SOURCES, files).cases)
    assert list_fields(load(SOURCES, files)) == first
    assert cache.exists()
    parsed.clear()
    assert list_fields(load(SOURCES, files)) == first
    assert parsed == []


@pytest.mark.slow
@pytest.mark.parametrize("which", DELIVERY_SETS)
def test_kept_names_give_the_trials_that_are_listed_anew(which):
    sampled = SAMPLED if which == "standard" else ()
    names = {
        case.id: expand.list_trial_names(case)
        for case in CASES
        if not isinstance(case, BehaviorCase | CallCase)
    }
    for mode, faults in (("bytes", "one"), ("push", "all"), ("http", "all"), ("http", "one")):
        how = CASES, DELIVERY_SETS[which], mode, expand.DEFAULT_SEED, faults, sampled
        kept = expand.expand(*how, names.__getitem__)
        assert [*kept] == [*expand.expand(*how)]
