"""Programs that only some tests need, and the oldest version of each that these tests pass with."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from streamconform.init.kits import KITS


@dataclass(frozen=True, slots=True)
class Tool:
    """A program on PATH."""

    command: str
    minimum: str = ""
    """The oldest usable version; empty if any is."""
    version_arguments: str = "--version"


MAVEN_REPOSITORY: Final = "/usr/share/maven-repo"
"""Where Debian's packages of Java libraries are, in place of what Maven downloads."""
_MAVEN_PACKAGES: Final = (
    "com/fasterxml/jackson/core/jackson-databind",
    "org/apache/maven/plugins/maven-dependency-plugin",
    "org/apache/maven/plugins/maven-jar-plugin",
    "org/apache/maven/plugins/maven-surefire-plugin",
)

TOOLS: Final[Mapping[str, tuple[Tool, ...]]] = {
    "browser": (Tool("chromium"),),
    # npm comes with Node.js; every npm of Node.js 18 reads the lock files.
    "node": (Tool("node", KITS["node"].minimum), Tool("npm")),
    "generators": (Tool("node", KITS["node"].minimum),),
    "biome": (Tool("node", KITS["node"].minimum),),
    "typescript": (Tool("node", "20"), Tool("npm")),
    # Debian 12 has cargo 1.65 with rustc 1.63. rustc links with cc.
    "cargo": (Tool("cargo"), Tool("rustc", KITS["rust"].minimum), Tool("cc")),
    # The version that harness/judges/rust/Cargo.toml names.
    "rust_judge": (Tool("cargo-clippy"), Tool("rustfmt"), Tool("rustc", "1.63"), Tool("cc")),
    "go": (Tool("go", KITS["go"].minimum, "version"),),
    # The version that harness/judges/go/go.mod names.
    "go_judge": (Tool("go", "1.19", "version"), Tool("gofmt")),
    # The version that harness/judges/java/pom.xml names.
    "java_judge": (
        Tool("javac", "17"),
        Tool("mvn"),
        *(Tool("ls", "2", f"{MAVEN_REPOSITORY}/{folder}") for folder in _MAVEN_PACKAGES),
        Tool("ls", "5.9", f"{MAVEN_REPOSITORY}/org/junit/jupiter/junit-jupiter-engine"),
        Tool("ls", "1.33", f"{MAVEN_REPOSITORY}/org/yaml/snakeyaml"),
    ),
    # `-addext` is new in 1.1.1.
    "openssl": (Tool("openssl", "1.1.1", "version"),),
    # `-std=c17` is new in GCC 8. Clang before 11 calls itself 4.2.1 here.
    "cc": (Tool("cc", "8", "-dumpversion"),),
    "cjson": (
        Tool("cc", "8", "-dumpversion"),
        Tool("c++"),
        Tool("make"),
        Tool("pkg-config", "1.7", "--modversion libcjson"),
        Tool("pkg-config", "7", "--modversion libcurl"),
    ),
    "java": (
        Tool("javac", KITS["java"].minimum),
        Tool("mvn"),
        *(Tool("ls", "2", f"{MAVEN_REPOSITORY}/{folder}") for folder in _MAVEN_PACKAGES),
    ),
    "ruby": (Tool("ruby", KITS["ruby"].minimum), Tool("bundle"), Tool("rubocop")),
    "php": (Tool("php", KITS["php"].minimum), Tool("phpcs")),
    "perl": (Tool("perl", KITS["perl"].minimum, "-e print$^V"), Tool("perlcritic")),
}
"""Maps a marker to the programs that its tests need."""

_NUMBER: Final = re.compile(r"(?<![\w.])(?:go|v)?(\d+(?:\.\d+)*)")


def read_version(printed: str) -> tuple[int, ...] | None:
    """Return the first version number in a program's output, or None if there is none."""
    match = _NUMBER.search(printed)
    return tuple(map(int, match[1].split("."))) if match else None


def is_older(version: tuple[int, ...], minimum: str) -> bool:
    """Return whether `version` is below `minimum`; missing parts count as zero."""
    oldest = tuple(map(int, minimum.split(".")))
    width = max(len(version), len(oldest))
    return version + (0,) * (width - len(version)) < oldest + (0,) * (width - len(oldest))


def describe_problem(marker: str) -> str | None:
    """Return why tests with `marker` cannot run: a program is missing or too old. None if they can."""
    return next((problem for tool in TOOLS[marker] if (problem := check(tool))), None)


@cache
def check(tool: Tool) -> str | None:
    path = shutil.which(tool.command)
    if path is None:
        return f"no {tool.command}"
    if not tool.minimum:
        return None
    done = subprocess.run(
        (path, *tool.version_arguments.split()), capture_output=True, text=True, check=False
    )
    version = read_version(done.stdout)
    if version is None:
        return f"{tool.command} {tool.version_arguments} prints no version; {tool.minimum} or newer is needed"
    if is_older(version, tool.minimum):
        return f"{tool.command} {'.'.join(map(str, version))} is older than {tool.minimum}"
    return None
