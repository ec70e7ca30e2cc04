"""Find the names that a newer release of a provider's SDK has, and the listed release does not."""

from __future__ import annotations

import tempfile
from pathlib import Path

from streamconform_dev.corpus.write_shapes import OFFICIAL_TYPES, read_types
from streamconform_dev.history.environment import find_python, install_release
from streamconform_dev.names.check import read_sdk
from streamconform_dev.names.read import read_type_names
from streamconform_dev.names.write import APIS
from streamconform_peers.environments import find_peer
from streamconform_peers.releases import Package


def find_new_names(package: Package, version: str) -> dict[str, list[str]]:
    """Return the new names in a release of a package, by API; empty if it is no provider's SDK.

    Raises:
        ImplementationError: the release cannot be installed.
    """
    apis = [api for api, name in APIS.items() if find_peer(name).distribution == package.name]
    if package.language != "python" or not apis:
        return {}
    peer = find_peer(APIS[apis[0]])
    with (
        tempfile.TemporaryDirectory() as root,
        install_release(Path(root), peer, package, version, keep=False) as folder,
    ):
        return {api: _list_new_names(api, find_python(folder)) for api in apis}


def _list_new_names(api: str, python: Path) -> list[str]:
    _, *classes = OFFICIAL_TYPES[api]
    _, listed = read_sdk(api)
    return sorted(read_type_names(read_types(python, classes)).keys() - listed.keys())
