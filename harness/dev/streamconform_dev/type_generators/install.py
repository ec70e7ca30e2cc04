"""Install the pinned type generators in the user's cache; `make generators` runs this."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from streamconform.user_cache import find_user_cache

HERE = Path(__file__).parent
DIGEST = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()
FOLDER = find_user_cache(None) / "tests" / f"generators-{DIGEST[:12]}"
MARK = FOLDER / "installed"
"""A file that exists if the installation was finished."""
COMMANDS = FOLDER / "node_modules" / ".bin"


def install() -> None:
    """Install exactly the packages in the lock file, from the user's registry."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in HERE.glob("*.json"):
        shutil.copy(path, FOLDER)
    command = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
    subprocess.run(command, cwd=FOLDER, check=True)
    MARK.touch()


if __name__ == "__main__":
    install()
