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
    with pytest.raises(SourceError, match=r"text\.yaml:2"):
        read_catalog(Sources(tmp_path, tmp_path))


def test_only_the_files_of_the_selected_cases_are_read(monkeypatch):
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
