"""`conform peers`, with a real pip but no network, and `--impl peer:NAME` in the installed environment."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from streamconform.adapters.connect import connect
from streamconform.errors import ImplementationError, UsageError
from streamconform_peers import cli as peers
from streamconform_peers import environments, install
from streamconform_peers.table import PEERS, Peer

from ..cli.project import Project
from .wheels import build_wheel

OLLAMA = PEERS["ollama"]
CASE = "ollama-chat/text/*@as-is"


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


@pytest.fixture
def pins(monkeypatch, tmp_path):
    """The pins of each peer, to be written by a test."""
    path = tmp_path / "requirements.txt"
    monkeypatch.setattr(Peer, "pins", path)
    return path


def test_a_peer_is_installed_judged_and_removed(offered, project, place, pins):
    pins.write_text(build_wheel(offered, "ollama"))
    runner = CliRunner()
    installed = runner.invoke(peers.command, ["install", "ollama"])
    assert (installed.exit_code, installed.stdout) == (
        0,
        f"ollama: ollama {OLLAMA.version}, 1 distribution in {place}\n",
    )
    again = project.run("peers", "install", "ollama")
    assert (again.code, "is already installed" in again.out) == (0, True)
    listed = json.loads(project.run("peers", "list", "--format", "json").out)
    environments_by_name = {peer["name"]: peer["installed"] for peer in listed}
    assert environments_by_name["ollama"]["distributions"] == {"ollama": OLLAMA.version}
    assert environments_by_name["openai"] is None
    (project.folder / "ollama.py").write_text("raise SystemExit('the current folder was imported')")
    ran = project.run("run", "--impl", "peer:ollama", "-k", CASE, "--deliver", "fast")
    assert f"ollama {OLLAMA.version} (python, http) via peer:ollama" in ran.out
    assert ran.code == 0, ran.out
    removed = project.run("peers", "remove", "ollama")
    assert (removed.out, place.exists()) == (f"ollama: ollama {OLLAMA.version} removed\n", False)
    assert project.run("peers", "remove", "ollama").out.endswith("was not installed\n")


def test_a_peer_that_is_not_installed_says_how_to_install_it(project):
    ran = project.run("run", "--impl", "peer:openai")
    assert (ran.code, ran.err) == (
        3,
        "error: `peer:openai` is not installed; run `conform peers install openai`\n",
    )


@pytest.mark.parametrize("words", [("run", "--impl", "peer:quux"), ("peers", "install", "openai", "quux")])
def test_an_unknown_peer_is_rejected_with_a_list_of_all_peers(project, words):
    ran = project.run(*words)
    assert (ran.code, "unknown peer `quux`; `conform peers list` shows the peers" in ran.err) == (2, True)


def test_a_file_whose_digest_is_not_pinned_is_not_installed(offered, place, pins):
    pins.write_text(build_wheel(offered, "ollama").partition(":")[0] + f":{'0' * 64}\n")
    place.parent.mkdir(parents=True)
    with pytest.raises(ImplementationError, match="DO NOT MATCH THE HASHES"):
        install.install(place.parent, OLLAMA)
    assert list(place.parent.iterdir()) == []


def test_a_failed_pip_is_reported_and_leaves_no_files(offered, project, place, pins):
    ran = project.run("peers", "install", "ollama")
    assert ran.code == 3
    assert f"pip cannot install ollama=={OLLAMA.version}:" in ran.err
    assert "`pip config list` shows which index pip uses" in ran.err
    assert "Traceback" not in ran.err
    assert list(place.parent.iterdir()) == []
    pins.write_text(build_wheel(offered, "ollama", requires=("nowhere>=1",)))
    with pytest.raises(ImplementationError, match="nowhere"):
        install.install(place.parent, OLLAMA)
    assert list(place.parent.iterdir()) == []


@pytest.mark.parametrize("manifest", [None, "[", "{}", '{"by": "1", "distributions": []}'])
def test_an_environment_that_is_damaged_says_what_to_do(place, manifest):
    place.mkdir(parents=True)
    if manifest is not None:
        (place / environments.MANIFEST).write_text(manifest)
    with pytest.raises(ImplementationError, match="conform peers remove ollama"):
        connect("peer:ollama")


def test_an_environment_whose_python_is_gone_says_what_to_do(place):
    place.mkdir(parents=True)
    manifest = {"by": "1", "requirements": OLLAMA.requirements, "distributions": {}}
    (place / environments.MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(ImplementationError, match="`bin/python` is missing"):
        connect("peer:ollama")


def test_an_environment_that_lacks_a_library_is_replaced(offered, place, pins):
    place.mkdir(parents=True)
    (place / environments.MANIFEST).write_text('{"by": "1", "requirements": [], "distributions": {}}')
    with pytest.raises(ImplementationError, match="`peer:ollama` is not installed"):
        connect("peer:ollama")
    pins.write_text(build_wheel(offered, "ollama"))
    assert install.install(place.parent, OLLAMA).distributions == {"ollama": OLLAMA.version}
    assert [path.name for path in place.parent.iterdir()] == [place.name]


def test_peers_of_one_release_share_an_environment(place, project):
    folder = place.parent / PEERS["openai"].key
    folder.mkdir(parents=True)
    ran = project.run("peers", "remove", "openai")
    assert ran.out == f"openai: openai {PEERS['openai'].version} removed, with openai-helper\n"
    assert not folder.exists()


def test_the_cache_folder_comes_from_the_variable_else_from_xdg(monkeypatch, tmp_path):
    monkeypatch.delenv("CONFORM_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert environments.get_environments_folder() == tmp_path / "streamconform" / "peers"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert environments.get_environments_folder() == tmp_path / "home" / ".cache" / "streamconform" / "peers"
    monkeypatch.setenv("CONFORM_CACHE", str(tmp_path / "mine"))
    assert environments.get_environments_folder() == tmp_path / "mine" / "peers"


def test_a_peer_needs_a_name():
    with pytest.raises(UsageError, match="a value is missing after the colon"):
        connect("peer:")
