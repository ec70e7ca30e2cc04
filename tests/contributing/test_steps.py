"""The steps of CONTRIBUTING.md work when performed as written, in a copy of the checkout."""

from __future__ import annotations

import zipfile

import pytest

from ..peers.wheels import WHEEL
from .checkout import copy_checkout
from .heliograph import SOURCE
from .page import Edit, read_sections

SECTIONS = {title: section for title, section in read_sections().items() if section.example}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """One copy for all sections: none changes files that another reads, and copying takes long."""
    return copy_checkout(tmp_path_factory.mktemp("contributing") / "checkout")


@pytest.fixture
def environment(offered, tmp_path):
    """The environment of commands: pip finds the example's library, and nothing else."""
    name = "heliograph-1.0.0"
    files = {
        "heliograph.py": SOURCE,
        f"{name}.dist-info/METADATA": "Metadata-Version: 2.1\nName: heliograph\nVersion: 1.0.0\n",
        f"{name}.dist-info/WHEEL": WHEEL,
    }
    record = f"{name}.dist-info/RECORD"
    with zipfile.ZipFile(offered / f"{name}-py3-none-any.whl", "w") as wheel:
        for path, text in {**files, record: "".join(f"{path},,\n" for path in (*files, record))}.items():
            wheel.writestr(zipfile.ZipInfo(path), text)  # the same date, so the same digest, each time
    return {"CONFORM_CACHE": str(tmp_path / "cache")}


@pytest.mark.slow
@pytest.mark.parametrize("title", SECTIONS)
def test_the_steps_work_as_written(title, checkout, environment):
    section = SECTIONS[title]
    checkout.add_files(section)
    for step in section.steps:
        if isinstance(step, Edit):
            step.apply(checkout.root)
        else:
            done = checkout.run(step.line, **environment)
            assert done.returncode == 0, f"$ {step.line}\n{done.stdout}"


def test_five_sections_have_an_example():
    assert list(SECTIONS) == [
        "Add a case",
        "Add an API",
        "Add a peer",
        "Add an adapter form",
        "Add a report",
    ]


@pytest.mark.parametrize("title", SECTIONS)
def test_the_page_states_how_many_files_and_lines_change(title):
    section = SECTIONS[title]
    lines = sum(step.lines for step in section.steps if isinstance(step, Edit))
    assert (len(section.files), lines) == (section.new_files, section.new_lines)
