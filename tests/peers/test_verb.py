"""`conform peers`, with a real pip without network, and `--impl peer:NAME` in what it makes."""

from __future__ import annotations

import json

import pytest
from streamconform.adapters.connect import connect
from streamconform.errors import ImplementationError, UsageError
from streamconform.peers import environments
from streamconform.peers.table import PEERS

from ..cli.project import Project
from .wheels import library

OLLAMA = PEERS["ollama"]
CASE = "ollama-chat/text/*@recorded"


@pytest.fixture
def project(offered, tmp_path):
    del offered
    folder = tmp_path / "project"
    folder.mkdir()
    return Project(folder)


@pytest.fixture
def place(offered, tmp_path):
    del offered
    return tmp_path / "cache" / "peers" / OLLAMA.key


def test_a_peer_is_installed_judged_and_removed(offered, project, place):
    library(offered, "ollama")
    made = project.run("peers", "install", "ollama")
    assert (made.code, made.out) == (0, f"ollama: ollama {OLLAMA.version}, 1 distribution in {place}\n")
    again = project.run("peers", "install", "ollama")
    assert (again.code, "is there already" in again.out) == (0, True)
    listed = json.loads(project.run("peers", "list", "--format", "json").out)
    told = {each["name"]: each["installed"] for each in listed}
    assert told["ollama"]["distributions"] == {"ollama": OLLAMA.version}
    assert told["openai"] is None
    (project.folder / "ollama.py").write_text("raise SystemExit('the current folder was imported')")
    ran = project.run("run", "--impl", "peer:ollama", "-k", CASE, "--deliver", "fast")
    assert f"ollama {OLLAMA.version} (python, http) via peer:ollama" in ran.out
    assert ran.code == 0, ran.out
    gone = project.run("peers", "remove", "ollama")
    assert (gone.out, place.exists()) == (f"ollama: ollama {OLLAMA.version} removed\n", False)
    assert project.run("peers", "remove", "ollama").out.endswith("was not installed\n")


def test_a_peer_that_is_not_installed_says_how_to_install_it(project):
    ran = project.run("run", "--impl", "peer:openai")
    assert (ran.code, ran.err) == (
        3,
        "error: `peer:openai` is not installed; run `conform peers install openai`\n",
    )


@pytest.mark.parametrize("words", [("run", "--impl", "peer:none"), ("peers", "install", "openai", "none")])
def test_a_name_that_is_no_peer_is_a_mistake_that_lists_them(project, words):
    ran = project.run(*words)
    assert (ran.code, "no peer `none`; known are openai, " in ran.err) == (2, True)


def test_what_pip_says_is_told_and_nothing_is_left(offered, project, place):
    ran = project.run("peers", "install", "ollama")
    assert ran.code == 3
    assert f"pip cannot install ollama=={OLLAMA.version}:" in ran.err
    assert "`pip config list` shows where pip looks" in ran.err
    assert "Traceback" not in ran.err
    assert list(place.parent.iterdir()) == []
    library(offered, "ollama", requires=("nowhere>=1",))
    assert "nowhere" in project.run("peers", "install", "ollama").err
    assert list(place.parent.iterdir()) == []


@pytest.mark.parametrize("about", [None, "[", "{}", '{"by": "1", "distributions": []}'])
def test_an_environment_that_is_damaged_says_what_to_do(place, about):
    place.mkdir(parents=True)
    if about is not None:
        (place / environments.ABOUT).write_text(about)
    with pytest.raises(ImplementationError, match="conform peers remove ollama"):
        connect("peer:ollama")


def test_an_environment_whose_python_is_gone_says_what_to_do(place):
    place.mkdir(parents=True)
    (place / environments.ABOUT).write_text('{"by": "1", "distributions": {}}')
    with pytest.raises(ImplementationError, match="has lost its Python"):
        connect("peer:ollama")


def test_peers_of_one_release_share_an_environment(place, project):
    folder = place.parent / PEERS["openai"].key
    folder.mkdir(parents=True)
    ran = project.run("peers", "remove", "openai")
    assert ran.out == f"openai: openai {PEERS['openai'].version} removed, and with it openai-helper\n"
    assert not folder.exists()


def test_the_cache_is_where_the_user_says_else_where_xdg_says(monkeypatch, tmp_path):
    monkeypatch.delenv("CONFORM_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert environments.home(None) == tmp_path / "streamconform" / "peers"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert environments.home(None) == tmp_path / "home" / ".cache" / "streamconform" / "peers"
    monkeypatch.setenv("CONFORM_CACHE", str(tmp_path / "mine"))
    assert environments.home(None) == tmp_path / "mine" / "peers"


def test_a_peer_needs_a_name():
    with pytest.raises(UsageError, match="a value is missing after the colon"):
        connect("peer:")
