"""A rehearsal builds a package, installs it from its file in an empty folder, and uses it there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamconform_dev.rehearsal import Package, RehearsalError, rehearse

MADE = Package(
    build=("cp README.md {out}",),
    files="*.md",
    install=("cp {file} copy",),
    use=("cat copy",),
    printed="Does your LLM client",
)


@pytest.fixture
def folders(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "project").mkdir()
    return tmp_path / "out", tmp_path / "project"


def test_the_files_are_installed_and_used_in_the_project(folders):
    out, project = folders
    assert rehearse(MADE, out, project).files == (out / "README.md",)
    assert (project / "copy").is_file()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"build": ("false",)}, "`false` exited with code 1"),
        ({"build": ("no-such-compiler {out}",)}, "`no-such-compiler` cannot be started: No such file"),
        ({"files": "*.whl"}, r"the build made no `\*\.whl`"),
        ({"install": ("cat nothing",)}, "nothing: No such file"),
        ({"use": ("cat nothing",)}, "nothing: No such file"),
        ({"printed": "another text"}, "`cat copy` does not print `another text`:.*Apache-2.0"),
    ],
)
def test_a_step_that_fails_is_named_with_its_output(changes, message, folders):
    with pytest.raises(RehearsalError, match=f"(?s){message}"):
        rehearse(replace(MADE, **changes), *folders)
