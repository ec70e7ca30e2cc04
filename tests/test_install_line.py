"""Pages, templates, messages and workflows install streamconform by the same line."""

from __future__ import annotations

import re
import tomllib

import pytest

from streamconform.install import INSTALL, SOURCE, format_install
from streamconform_dev.checkout import ROOT

from .test_repository import texts

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
LINES = {INSTALL, *map(format_install, PROJECT["optional-dependencies"])}
COMMAND = re.compile(r"(?:\bpip3? install|\buv (?:pip install|tool install|add)|\buvx|\bpipx \w+)[^\n`|<]*")
NAME = re.compile(r"\bstreamconform\b(?!/streamconform@v)")
OTHERS = {
    "Containerfile": "it is built from a checkout",
    "CHANGELOG.md": "it says what was true of a release",
    "tests": "they install the wheel, or contain wrong lines",
}


def find_lines(text):
    """Return the commands in `text` that install streamconform."""
    lines = (match[0].strip() for match in COMMAND.finditer(text))
    return [re.sub(r"\s+#.*", "", line) for line in lines if NAME.search(line)]


def find_wrong_lines(text):
    return [line for line in find_lines(text) if not any(line.startswith(good) for good in LINES)]


@pytest.mark.parametrize(
    "text",
    [
        "pip3 install streamconform",
        "pip install ./streamconform",
        "$ python -m pip install --upgrade 'streamconform'",
        'With `pip install "streamconform[pytest]"`, pytest',
        "- run: uv tool install streamconform",
        "uvx --from streamconform conform run",
        "pipx run streamconform",
    ],
)
def test_another_spelling_is_found(text):
    assert len(find_wrong_lines(text)) == 1


def test_every_file_installs_it_by_the_same_line():
    wrong = {}
    for path in texts():
        name = path.relative_to(ROOT).as_posix()
        if name.partition("/")[0] not in OTHERS and (
            lines := find_wrong_lines(path.read_text("utf-8", "replace"))
        ):
            wrong[name] = lines
    assert wrong == {}


@pytest.mark.parametrize("name", ["README.md", "docs/guide.md"])
def test_the_first_pages_have_the_line(name):
    assert INSTALL in find_lines((ROOT / name).read_text("utf-8"))


@pytest.mark.parametrize("extra", PROJECT["optional-dependencies"])
def test_each_extra_is_documented_with_its_line(extra):
    pages = [path.read_text("utf-8") for path in (ROOT / "docs").glob("*.md")]
    assert any(format_install(extra) in page for page in pages)


@pytest.mark.parametrize("name", ["action.yml", "docs/ci.md"])
def test_the_input_of_the_action_is_explained_by_what_pip_accepts(name):
    assert f"`{SOURCE}" in (ROOT / name).read_text("utf-8")


def test_the_line_and_the_package_name_the_same_repository():
    assert SOURCE in (PROJECT["name"], f"git+{PROJECT['urls']['Repository']}")
