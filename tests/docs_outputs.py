"""Fills the output blocks of the README with what the commands print: `python -m tests.docs_outputs`.

A block follows a line `<!-- output: COMMAND -->`. Times are left as they come; the test that holds the README
true does not look at them.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from pathlib import Path

from .cli import forked

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"(<!-- output: (?P<command>.+?) -->\n```\n)(?P<text>.*?)(```)", re.DOTALL)
TIME = re.compile(r"in \d+\.\d s")


def printed(command: str) -> str:
    """Return what `command` prints in an empty folder; `make run` is the run that it makes."""
    words = shlex.split("conform run" if command == "make run" else command)
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {"NO_COLOR": "1"}
        done = forked.run("streamconform", words[1:], cwd=Path(folder), env=env)
    text = done.stdout.replace(f"{ROOT}/", "")
    return "\n".join(line.rstrip() for line in text.rstrip().splitlines()) + "\n"


def without_times(text: str) -> str:
    """Return `text` without what differs from run to run."""
    return TIME.sub("in # s", text)


def main() -> None:
    """Write the README anew."""
    readme = ROOT / "README.md"
    text = readme.read_text("utf-8")
    readme.write_text(BLOCK.sub(lambda m: m[1] + printed(m["command"]) + m[4], text), "utf-8")


if __name__ == "__main__":
    main()
