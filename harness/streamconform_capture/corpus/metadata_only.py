"""A build backend that builds nothing; it replaces a source distribution's own backend during the download.

For every download, pip asks the archive's build backend for metadata (PEP 517). A real backend is third-party
code, requires further downloads, and runs code from the archive. pip finds this one on `PYTHONPATH`, under
the real backend's name. It returns the metadata that is already in the archive, since `PKG-INFO` has the same
format as `METADATA`. This file is copied out of the package and runs on its own, in the folder of the
unpacked archive.
"""

from __future__ import annotations

import email
import shutil
from pathlib import Path


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: object = None) -> str:
    """Write the `.dist-info` folder, from which pip reads the name and version; return the folder's name."""
    del config_settings
    with Path("PKG-INFO").open("rb") as file:
        fields = email.message_from_binary_file(file)
    folder = f"{fields['Name'].replace('-', '_')}-{fields['Version']}.dist-info"
    Path(metadata_directory, folder).mkdir()
    shutil.copyfile("PKG-INFO", Path(metadata_directory, folder, "METADATA"))
    return folder


def build_wheel(*_: object) -> str:
    """Raise `NotImplementedError`; `pip download` never requests a wheel."""
    raise NotImplementedError("this backend builds nothing")
