"""An untrusted suite may contain pipes and devices in place of files; reading them never blocks."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from streamconform.errors import SourceError
from streamconform.suite import cassettes
from streamconform.suite.catalog import read_case_ids
from streamconform.yaml_text import reader

from . import builders


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def link_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def bind_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(os.path.relpath(path))


KINDS = [(make_pipe, "a named pipe"), (link_device, "a device"), (Path.mkdir, "a folder")]


@pytest.mark.parametrize(("make", "kind"), KINDS, ids=[kind for _, kind in KINDS])
@pytest.mark.parametrize("read", [reader.read, read_case_ids], ids=["spec", "catalog"])
def test_a_spec_that_is_no_file_is_refused(tmp_path, make, kind, read):
    path = tmp_path / "spec.yaml"
    make(path)
    with pytest.raises(SourceError) as caught:
        read(path)
    assert str(caught.value) == f"{path}: cannot be read: it is {kind}, expected a regular file"


@pytest.mark.parametrize(("make", "kind"), KINDS, ids=[kind for _, kind in KINDS])
@pytest.mark.parametrize("name", ["small.yaml", "small.sse", "small.twin.json"])
def test_a_cassette_that_is_no_file_is_refused(tmp_path, make, kind, name):
    cassettes.save(tmp_path, builders.cassette(twin=b"{}"))
    path = tmp_path / builders.ANTHROPIC / name
    path.unlink()
    make(path)
    with pytest.raises(SourceError) as caught:
        cassettes.load(tmp_path, builders.ANTHROPIC, "small")
    assert f"it is {kind}, expected a regular file" in str(caught.value)


def test_a_socket_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bind_socket(tmp_path / "spec.yaml")
    with pytest.raises(SourceError) as caught:
        reader.read(tmp_path / "spec.yaml")
    assert "cannot be read" in str(caught.value)
