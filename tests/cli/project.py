"""A user's project in a separate folder, and `conform` run in it like a user would."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from streamconform.run.run_folders import RUNS, get_latest_results
from streamconform_dev.docs.command import Ran

from . import forked


@dataclass(frozen=True)
class Project:
    """Files by their path in the project; `run` writes them and runs `conform` there."""

    folder: Path
    files: Mapping[str, str] = field(default_factory=dict)

    def with_file(self, name: str, text: str) -> Project:
        """Return the project with one more file."""
        return replace(self, files={**self.files, name: text})

    def write(self) -> None:
        """Write the files."""
        for name, text in self.files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")

    @property
    def results(self) -> Path:
        """The results of the latest run."""
        return get_latest_results(self.folder / RUNS)

    def run(self, *words: str, environment: Mapping[str, str] | None = None, stdin: str = "") -> Ran:
        """Run `conform WORDS` in the project, and return the result."""
        self.write()
        env = {**os.environ, "NO_COLOR": "1", **(environment or {})}
        done = forked.run("streamconform", words, cwd=self.folder, env=env, stdin=stdin)
        return Ran(done.returncode, done.stdout, done.stderr)


def run_forked(command: str, folder: Path) -> Ran:
    """Run `command`, which starts with the word `conform`, in `folder`."""
    return Project(folder).run(*shlex.split(command)[1:])
