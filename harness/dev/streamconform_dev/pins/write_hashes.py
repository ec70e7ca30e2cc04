"""Write the digests of all wheels of each pinned release: `python -m streamconform_dev.pins.write_hashes`.

Digests come from the index, through `uv`, which must be on the PATH. A release that has some keeps them, so
that a file that was replaced on the index is noticed when it is installed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from typing import Final

from streamconform_peers.pins import HASHES, read_hashes, read_pins
from streamconform_peers.table import PEERS

COMMAND: Final = (
    *("uv", "pip", "compile", "--quiet", "--universal", "--no-deps", "--generate-hashes", "--no-header"),
    *("--no-annotate", "-"),
)
DIGEST: Final = re.compile(r"--hash=(sha256:[0-9a-f]{64})")
HEADING: Final = "# The digests of all files of each pinned release."


def find_hashes(pin: str) -> tuple[str, ...]:
    """Return the digests of all files of the release `name==version`."""
    if shutil.which(COMMAND[0]) is None:
        sys.exit("`uv` is not on the PATH; run `pip install uv`")
    ran = subprocess.run(COMMAND, input=pin, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(ran.stderr)
    return tuple(DIGEST.findall(ran.stdout))


def main() -> None:
    """Complete the file, and remove releases that no peer pins."""
    pins = {pin for peer in PEERS.values() if peer.language == "python" for pin in read_pins(peer)}
    hashes = read_hashes()
    lines = [f"{pin} {' '.join(hashes.get(pin) or find_hashes(pin))}" for pin in sorted(pins, key=str.lower)]
    HASHES.write_text("\n".join([HEADING, *lines]) + "\n", "utf-8")


if __name__ == "__main__":
    main()
