"""A rehearsal builds a package, installs it from its file in an empty folder, and uses it there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamconform_dev.checkout import ROOT
from streamconform_dev.rehearsal import PACKAGES, RehearsalError, ReleasePackage, rehearse

from .judges.crates import DEBIAN
from .optional_tools import MAVEN_REPOSITORY

MADE = ReleasePackage(
    build=("cp README.md {out}",),
    files="*.md",
    install=("cp {file} copy",),
    use=("cat copy",),
    printed="Does your LLM client",
)


MARKERS = {"npm": "typescript", "crate": "rust_judge", "go": "go_judge", "jar": "java_judge"}
JUDGES = [
    pytest.param(name, marks=getattr(pytest.mark, marker))
    for name, marker in MARKERS.items()
    if name in PACKAGES
]
CARGO = f'[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "{DEBIAN}"\n'
# Debian's Surefire has a version of its own.
MAVEN = f"""\
<settings>
  <localRepository>{MAVEN_REPOSITORY}</localRepository>
  <offline>true</offline>
  <profiles>
    <profile><id>debian</id><properties><surefire.version>2.22.3</surefire.version></properties></profile>
  </profiles>
  <activeProfiles><activeProfile>debian</activeProfile></activeProfiles>
</settings>
"""


@pytest.fixture
def folders(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "project").mkdir()
    return tmp_path / "out", tmp_path / "project"


@pytest.fixture
def debian(tmp_path, monkeypatch):
    """Let Cargo and Maven use Debian's packages."""
    for name, text in (("cargo/config.toml", CARGO), (".m2/settings.xml", MAVEN)):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "cargo"))
    monkeypatch.setenv("CARGO_NET_OFFLINE", "true")
    # As in the tests of the judge, so that its dependencies are compiled once.
    monkeypatch.setenv("CARGO_TARGET_DIR", str(ROOT / "harness/judges/rust/target/tests"))
    monkeypatch.setenv("CARGO_PROFILE_DEV_DEBUG", "0")
    monkeypatch.setenv("CARGO_INCREMENTAL", "0")
    monkeypatch.setenv("MAVEN_OPTS", f"-Duser.home={tmp_path}")


@pytest.mark.slow
@pytest.mark.usefixtures("debian")
@pytest.mark.parametrize("name", JUDGES)
def test_a_judge_is_built_installed_and_finds_what_ours_finds(name, folders):
    assert rehearse(PACKAGES[name], *folders).files


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
