"""Rehearse a release: build each package, install it from its file in an empty folder, and use it there."""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from streamconform._version import __version__
from streamconform.apis import NAMES
from streamconform.suite.selection import SelectionSettings, find_sources
from streamconform_dev.artifact import group_cases, write_suite
from streamconform_dev.checkout import ROOT
from streamconform_dev.go_module import MODULE, VERSION
from streamconform_dev.judges.files import record_answers, write_answers

SHOWN: Final = 2000
"""The number of characters of a failed command's output to show."""
COUNT_CASES: Final = """\
import gzip, json, sys
suites = [json.load(gzip.open(path)) for path in sys.argv[1:]]
print(len(suites), "suites with", sum(len(suite["cases"]) for suite in suites), "cases")
"""


class RehearsalError(Exception):
    """A package cannot be built, installed or used. The message has the command and the end of its output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePackage:
    """A package of a release: commands, which run without a shell after the fields in braces are filled in.

    `{python}` and `{conform}` are those of the checkout, `{judges}` compares a judge with that in Python,
    `{out}` is the folder for the built files, `{file}` are those files, `{work}` is a folder for others, and
    `{project}` is the empty folder in which they are installed.
    """

    folder: str = "."
    """The package's source, where `build` runs."""
    build: tuple[str, ...]
    files: str
    """A pattern for the built files in `{out}`."""
    install: tuple[str, ...]
    """Run in an empty folder, like `use`."""
    use: tuple[str, ...]
    printed: str
    """What the last command prints, at least."""


SAME: Final = "checker: 0 differences in "
JUDGED: Final = "ollama-chat"
"""The API whose recorded answers show that a judge works: the smallest suite."""
CASES: Final = 3
_ALL: Final[Mapping[str, ReleasePackage]] = {
    "wheel": ReleasePackage(
        build=("{python} -m build --outdir {out}",),
        files="*.whl",
        install=("{python} -m venv env", "env/bin/python -m pip install --quiet {file}"),
        use=("env/bin/conform run --profile core --api openai-chat",),
        printed="No failures: ",
    ),
    "suite": ReleasePackage(
        build=("{conform} dev export-suite {out}",),
        files="suite-*.json.gz",
        install=("cp {file} .",),
        use=(f"{{python}} -I -c {shlex.quote(COUNT_CASES)} {{file}}",),
        printed=f"{len(NAMES) + 1} suites with ",
    ),
    "npm": ReleasePackage(
        folder="harness/judges/typescript",
        build=(
            "npm install --ignore-scripts --no-audit --no-fund --no-package-lock",
            "npm pack --pack-destination {out}",
        ),
        files="*.tgz",
        install=("npm init --yes", "npm install --no-audit --no-fund {file}"),
        use=("{judges} 'node node_modules/streamconform/dist/checker.js'",),
        printed=SAME,
    ),
    "crate": ReleasePackage(
        folder="harness/judges/rust",
        build=(
            "cargo package --allow-dirty --no-verify --target-dir {work}",
            f"cp {{work}}/package/streamconform-{__version__}.crate {{out}}",
        ),
        files="*.crate",
        install=(
            "tar --extract --strip-components 1 --file {file}",
            "cargo build --example judge_answers",
        ),
        use=("{judges} 'cargo run --quiet --example judge_answers --'",),
        printed=SAME,
    ),
    "go": ReleasePackage(
        folder="harness/judges/go",
        build=("{python} -m streamconform_dev.go_module {out}",),
        files="**/*.zip",
        install=(
            (
                "env GOPROXY=file://{out},direct GONOSUMDB=github.com/streamconform GOBIN={project} "
                f"go install {MODULE}/cmd/judge-answers@{VERSION}"
            ),
        ),
        use=("{judges} ./judge-answers",),
        printed=SAME,
    ),
    "jar": ReleasePackage(
        folder="harness/judges/java",
        build=(
            "mvn -q -DskipTests package dependency:copy-dependencies -DoutputDirectory={work}",
            f"cp target/streamconform-{__version__}.jar {{out}}",
        ),
        files="*.jar",
        install=("cp -R {work} libraries", "cp {file} libraries"),
        use=(
            (
                "{judges} 'java -cp libraries/* "
                f"{ROOT}/harness/judges/java/src/test/java/io/github/streamconform/JudgeAnswers.java'"
            ),
        ),
        printed=SAME,
    ),
    "image": ReleasePackage(
        build=(
            "docker build --quiet --file Containerfile --tag streamconform-rehearsal .",
            "docker save --output {out}/image.tar streamconform-rehearsal",
        ),
        files="image.tar",
        install=("docker load --input {file}",),
        use=("docker run --rm --network none streamconform-rehearsal run --profile core --api openai-chat",),
        printed="No failures: ",
    ),
}
PACKAGES: Final = {name: package for name, package in _ALL.items() if (ROOT / package.folder).is_dir()}
"""Each package of a release whose source is in the checkout."""


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """The files of a package, and the seconds that it took to build, install and use it."""

    files: tuple[Path, ...]
    seconds: tuple[float, float, float]


def rehearse(package: ReleasePackage, out: Path, project: Path) -> Rehearsed:
    """Build `package` into the empty folder `out`, then install and use it in the empty folder `project`.

    Raises `RehearsalError`.
    """
    fields = {
        "python": shlex.quote(sys.executable),
        "conform": f"{shlex.quote(sys.executable)} -m streamconform",
        "out": shlex.quote(str(out)),
        "project": shlex.quote(str(project)),
        "work": shlex.quote(str(project.parent / "work")),
    }
    fields["judges"] = f"{fields['conform']} dev judges answers --api {JUDGED} --checker"
    times = [time.monotonic()]
    _run_all(package.build, fields, ROOT / package.folder)
    times.append(time.monotonic())
    files = tuple(sorted(out.glob(package.files)))
    if not files:
        raise RehearsalError(f"the build made no `{package.files}`")
    fields["file"] = shlex.join(map(str, files))
    _run_all(package.install, fields, project)
    if package.printed == SAME:
        _record_answers(project / "answers")
    times.append(time.monotonic())
    printed = _run_all(package.use, fields, project)
    times.append(time.monotonic())
    if package.printed not in printed:
        raise RehearsalError(f"`{package.use[-1]}` does not print `{package.printed}`:\n{printed[-SHOWN:]}")
    built, installed, used = (end - start for start, end in pairwise(times))
    return Rehearsed(files, (built, installed, used))


def _record_answers(folder: Path) -> None:
    """Write the suite of `JUDGED`, and the answers to its first cases, into `folder`."""
    for api, cases in group_cases(find_sources(SelectionSettings())):
        if api == JUDGED:
            write_suite(api, cases, folder)
            write_answers(api, record_answers(cases[:CASES], 1), folder)


def _run_all(commands: tuple[str, ...], fields: Mapping[str, str], folder: Path) -> str:
    """Run the commands in `folder`, and return what the last one prints."""
    printed = ""
    for command in commands:
        argv = shlex.split(command.format_map(fields))
        try:
            done = subprocess.run(
                argv,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
        except OSError as error:
            raise RehearsalError(f"`{argv[0]}` cannot be started: {error.strerror}") from error
        printed = done.stdout.decode("utf-8", "replace")
        if done.returncode:
            raise RehearsalError(
                f"`{shlex.join(argv)}` exited with code {done.returncode}:\n{printed[-SHOWN:]}"
            )
    return printed
