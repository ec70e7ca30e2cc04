"""Follow the guide for a first adapter to the letter, each section in a new folder."""

from __future__ import annotations

import pytest

from streamconform_dev.docs.blocks import describe_outdated
from streamconform_dev.docs.guide import EXIT_CODES, STEP, follow, hide_details, read_sections

from .cli import forked

SECTIONS = read_sections()
MARKS = {"In any language": (pytest.mark.node,)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "title", [pytest.param(title, id=title, marks=MARKS.get(title, ())) for title in SECTIONS]
)
def test_a_section_of_the_guide_does_what_it_says(title, tmp_path, monkeypatch):
    monkeypatch.setenv(forked.NEW_PROGRAMS, "1")
    forked.write_command(tmp_path / "conform")
    folder = tmp_path / "project"
    folder.mkdir()
    for ran in follow(SECTIONS[title], folder, (str(tmp_path / "conform"),)):
        assert ran.code in EXIT_CODES, (ran.command, ran.error)
        assert "Traceback" not in ran.error
        if ran.documented is not None:
            assert hide_details(ran.printed) == hide_details(ran.documented), describe_outdated("guide")


def test_the_guide_is_about_python_any_language_and_http():
    assert [title.partition(",")[0] for title in SECTIONS] == [
        "In Python",
        "In any language",
        "A real client",
    ]


def test_the_programs_of_the_guide_are_short():
    files = [
        step["text"] for body in SECTIONS.values() for step in STEP.finditer(body) if step["kind"] == "file"
    ]
    assert max(text.count("\n") for text in files) < 70
