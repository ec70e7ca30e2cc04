"""The catalog: reading case ids without parsing, and loading only the files of selected cases."""

from __future__ import annotations

import pytest

from streamconform.errors import SourceError
from streamconform.resources import find_bundled
from streamconform.suite import cassettes
from streamconform.suite.catalog import read_case_ids, read_catalog
from streamconform.suite.load import Sources, load
from streamconform.yaml_text import reader

SOURCES = Sources(find_bundled("specs"), find_bundled("cassettes"))

SPECS = {
    "id first": ("cases:\n  - id: a\n    title: x\n  - id: b\n", ["a", "b"]),
    "id later": ("cases:\n- title: x\n  id: a\n- id: b  # the second\n", ["a", "b"]),
    "quoted": ("cases:\n  - id: 'a'\n  - id: \"b\"\n", ["a", "b"]),
    "ids deeper down": ("cases:\n  - id: a\n    expect:\n      - id: x\n        id: y\n", ["a"]),
    "id only deeper down": ("cases:\n  - title: a\n    expect:\n      id: x\n  - id: b\n", ["b"]),
    "text that looks like an item": ("cases:\n  - id: a\n    why: |\n      - id: b\n", ["a"]),
    "comments before the items": ("cases:  # two\n\n# of them\n  - id: a\n\n  - id: b\n", ["a", "b"]),
    "flow style": ("{cases: [{id: a}, {id: b, title: x}]}\n", ["a", "b"]),
    "flow items": ("cases:\n  - {id: a, title: x}\n  - id: b\n", ["a", "b"]),
    "CR LF": ("cases:\r\n  - id: a\r\n  - id: b\r\n", ["a", "b"]),
    "no cases": ("topic: x\n", []),
    "not a mapping": ("- cases\n", []),
    "cases that are no list": ("{cases: text}\n", []),
    "items without an id": ("{cases: [{title: a}, text, {id: b}]}\n", ["b"]),
}


@pytest.mark.parametrize("name", SPECS)
def test_ids_are_found_in_every_style_of_yaml(tmp_path, name):
    text, ids = SPECS[name]
    folder = tmp_path / "openai-chat"
    folder.mkdir()
    (folder / "text.yaml").write_bytes(text.encode())
    assert read_case_ids(folder / "text.yaml") == tuple(f"openai-chat/text/{name}" for name in ids)


def test_the_catalog_of_the_bundled_suite_has_the_ids_of_its_cases_in_their_order():
    assert read_catalog(SOURCES).ids == tuple(case.id for case in load(SOURCES))


def test_a_spec_that_is_not_yaml_is_reported_with_its_line(tmp_path):
    (tmp_path / "openai-chat").mkdir()
    (tmp_path / "openai-chat/text.yaml").write_text("cases: [\n", "utf-8")
    catalog = read_catalog(Sources(tmp_path, tmp_path))
    with pytest.raises(SourceError, match=r"text\.yaml:2"):
        catalog.list_ids()


NARROW = {
    "an id": ((), ("openai-chat/text/a",), ["openai-chat/text"]),
    "a delivery of an id": ((), ("openai-chat/text/a@bytewise",), ["openai-chat/text"]),
    "all cases of a file": ((), ("openai-chat/text/*",), ["openai-chat/text"]),
    "an unfinished topic": ((), ("openai-chat/t*/a",), ["openai-chat/text", "openai-chat/tools"]),
    "two patterns": (
        (),
        ("openai-chat/text/a", "ollama-chat/*/a"),
        ["openai-chat/text", "ollama-chat/text"],
    ),
    "an unfinished API": ((), ("ollama*/a", "ollama*"), ["ollama-chat/text"]),
    "an API": (("ollama-chat",), (), ["ollama-chat/text"]),
    "an API and a pattern": (("openai-chat",), ("openai-chat/tools/**",), ["openai-chat/tools"]),
    "a part of an id": ((), ("a",), ["openai-chat/text", "openai-chat/tools", "ollama-chat/text"]),
    "any folder": ((), ("**/a",), ["openai-chat/text", "openai-chat/tools", "ollama-chat/text"]),
}


@pytest.mark.parametrize("name", NARROW)
def test_only_files_that_may_hold_a_selected_case_are_read(tmp_path, name):
    apis, patterns, prefixes = NARROW[name]
    for prefix in ("openai-chat/text", "openai-chat/tools", "ollama-chat/text"):
        path = tmp_path / f"{prefix}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text("cases:\n  - id: a\n" if prefix in prefixes else "cases: [\n", "utf-8")
    ids = read_catalog(Sources(tmp_path, tmp_path)).list_ids(apis, patterns)
    assert sorted(ids) == sorted(f"{prefix}/a" for prefix in prefixes)


@pytest.mark.parametrize("ending", ["openai-chat/text/a", "text/a"])
def test_only_files_that_may_hold_an_id_with_an_ending_are_read(tmp_path, ending):
    (tmp_path / "openai-chat").mkdir()
    (tmp_path / "openai-chat/text.yaml").write_text("cases:\n  - id: a\n", "utf-8")
    (tmp_path / "openai-chat/other-text.yaml").write_text("cases: [\n", "utf-8")
    assert read_catalog(Sources(tmp_path, tmp_path)).list_ids_ending(ending) == ("openai-chat/text/a",)


def test_a_spec_that_cannot_be_read_is_reported_with_its_path(tmp_path):
    path = tmp_path / "openai-chat/text.yaml"
    with pytest.raises(SourceError) as raised:
        read_case_ids(path)
    assert [problem.path for problem in raised.value.problems] == [str(path)]


def test_only_files_that_hold_a_case_are_found(tmp_path):
    (tmp_path / "openai-chat").mkdir()
    path = tmp_path / "openai-chat/text.yaml"
    path.write_text("cases:\n  - id: a\n", "utf-8")
    catalog = read_catalog(Sources(tmp_path, tmp_path))
    assert catalog.find_files(["openai-chat/text/b", "openai-chat/text/a"]) == [path]
    assert catalog.find_files(["openai-chat/text/b", "openai-chat/tools/a"]) == []


def test_an_ending_without_a_folder_may_be_in_every_file(tmp_path):
    (tmp_path / "openai-chat").mkdir()
    for topic in ("text", "tools"):
        (tmp_path / f"openai-chat/{topic}.yaml").write_text("cases:\n  - id: a\n", "utf-8")
    ids = ("openai-chat/text/a", "openai-chat/tools/a")
    assert read_catalog(Sources(tmp_path, tmp_path)).list_ids_ending("a") == ids


def test_only_the_files_of_the_selected_cases_are_read(tmp_path, monkeypatch):
    monkeypatch.setenv("CONFORM_CACHE", str(tmp_path))  # nothing is kept there
    read, parse = [], reader.parse

    def parse_and_note(data, name):
        read.append(name.rpartition("/")[2])
        return parse(data, name)

    monkeypatch.setattr(reader, "parse", parse_and_note)
    (case,) = read_catalog(SOURCES).load(["anthropic-messages/tool-use/no-arguments-empty-delta"])
    assert case.id == "anthropic-messages/tool-use/no-arguments-empty-delta"
    assert read == ["tool-use.yaml", f"{case.cassette.name}.yaml"]


def test_a_broken_cassette_is_reported_only_where_its_case_is_selected(tmp_path):
    home = tmp_path / "specs/openai-chat"
    home.mkdir(parents=True)
    spec = "spec: 1\napi: openai-chat\ntopic: text\ncases:\n" + "".join(
        f"""  - id: {id_}
    title: The {id_} case
    cassette: {name}
    expect: {{status: complete, stop: stop, content: []}}
"""
        for id_, name in (("good", "text-plain"), ("bad", "not-there"))
    )
    (home / "text.yaml").write_text(spec, "utf-8")
    catalog = read_catalog(Sources(tmp_path / "specs", SOURCES.cassettes))
    (case,) = catalog.load(["openai-chat/text/good"])
    assert case.cassette == cassettes.load(SOURCES.cassettes, "openai-chat", "text-plain")
    with pytest.raises(SourceError, match="no such cassette"):
        catalog.load()


def test_heads_of_selected_cases_need_no_cassette(tmp_path):
    for topic in ("text", "tools"):
        path = tmp_path / f"openai-chat/{topic}.yaml"
        path.parent.mkdir(exist_ok=True)
        case = "    title: A case\n    cassette: x\n    expect: {status: complete, stop: stop, content: []}\n"
        text = "".join(f"  - id: {id_}\n{case}" for id_ in "abc")
        path.write_text(f"spec: 1\napi: openai-chat\ntopic: {topic}\ncases:\n{text}", "utf-8")
    (tmp_path / "openai-chat/wrong.yaml").write_text("spec: 2\ncases:\n  - id: a\n", "utf-8")
    catalog = read_catalog(Sources(tmp_path, tmp_path))
    ids = ["openai-chat/tools/b", "openai-chat/text/c", "openai-chat/text/a"]
    heads = catalog.load_heads(ids)
    assert [(head.id, head.api, head.line) for head in heads] == [
        ("openai-chat/text/a", "openai-chat", 5),
        ("openai-chat/text/c", "openai-chat", 13),
        ("openai-chat/tools/b", "openai-chat", 9),
    ]
    with pytest.raises(SourceError, match="spec"):
        catalog.load_heads(["openai-chat/wrong/a"])
