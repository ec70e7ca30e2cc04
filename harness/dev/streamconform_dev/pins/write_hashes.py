"""Add the missing digests to the pins of Python libraries: `python -m streamconform_dev.pins.write_hashes`.

The digests of all wheels of a release come from the index, through `uv`, which must be on the PATH. A release
that has some keeps them, so that a file that was replaced on the index is noticed when it is installed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from streamconform_peers.table import PEERS

COMMAND: Final = (
    *("uv", "pip", "compile", "--quiet", "--universal", "--no-deps", "--generate-hashes", "--no-header"),
    *("--no-annotate", "-"),
)
DIGEST: Final = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def read_pins(path: Path) -> dict[str, list[str]]:
    """Return the digests of each release in a file of pins, keyed by `name==version` and its marker."""
    lines = (line.partition(" --hash=") for line in path.read_text("utf-8").splitlines())
    return {pin.rstrip(): (separator + digests).split() for pin, separator, digests in lines}


def find_hashes(pin: str) -> list[str]:
    """Return the digests of all files of the release `name==version`."""
    if shutil.which(COMMAND[0]) is None:
        sys.exit("`uv` is not on the PATH; run `pip install uv`")
    ran = subprocess.run(COMMAND, input=pin, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(ran.stderr)
    return DIGEST.findall(ran.stdout)


def main() -> None:
    """Complete the files."""
    for path in sorted({peer.pins for peer in PEERS.values() if peer.language == "python"}):
        pins = read_pins(path).items()
        lines = [" ".join([pin, *(digests or find_hashes(pin.partition(" ")[0]))]) for pin, digests in pins]
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


if __name__ == "__main__":
    main()
