"""Pack the judge in Go as a module proxy serves it: `python -m streamconform_dev.go_module FOLDER`.

Source: https://go.dev/ref/mod#goproxy-protocol
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Final

from streamconform._version import __version__
from streamconform_dev.checkout import ROOT

SOURCE: Final = ROOT / "harness/judges/go"
MODULE: Final = "github.com/streamconform/streamconform/harness/judges/go"
VERSION: Final = f"v{__version__}"


def pack_module(folder: Path) -> None:
    """Write the files of the module's version below `folder`."""
    target = folder / MODULE / "@v"
    target.mkdir(parents=True)
    (target / "list").write_text(f"{VERSION}\n")
    (target / f"{VERSION}.info").write_text(json.dumps({"Version": VERSION}))
    (target / f"{VERSION}.mod").write_bytes((SOURCE / "go.mod").read_bytes())
    with zipfile.ZipFile(target / f"{VERSION}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(SOURCE.rglob("*")):
            if path.suffix in (".go", ".md") or path.name in ("go.mod", "go.sum"):
                archive.write(path, f"{MODULE}@{VERSION}/{path.relative_to(SOURCE).as_posix()}")


if __name__ == "__main__":
    pack_module(Path(sys.argv[1]))
