"""The languages for which `conform init` writes an adapter, and how each one is built and started."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, get_args

from streamconform.errors import UsageError
from streamconform.files import read_regular

Language = Literal["python", "node", "go", "rust", "java", "ruby", "php", "c", "perl"]
LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)
_IN_ANY_LANGUAGE: Final = (
    "https://streamconform.github.io/streamconform/docs/adapters.html#a-program-in-thirty-lines"
)
_EXCEPTIONS: Final = (
    "An exception in the library is a result: the code below sends it as `raised`, and it is judged\n"
    "  as an error that the library reports. An exception in this file is an adapter error, `errored`."
)
_ERRORS: Final = (
    "An error or panic in the library is a result: the code below sends it as `raised`, and it is judged\n"
    "  as an error that the library reports."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """What `init` writes for a language. In paths and commands, `{tests}` is the folder of the tests."""

    title: str
    minimum: str
    """The oldest version that compiles and runs the templates: that of Debian 12."""
    files: Mapping[str, str]
    """Maps the path of each file to its template; the first one is the adapter."""
    impl: str
    """The value of `--impl`."""
    build: str | None = None
    """The command that compiles the adapter: compiling in `impl` would count as the program's start."""
    comment: str = "// "
    """What each line of the rules begins with."""
    raising: str = _EXCEPTIONS
    """The advice on exceptions."""
    setup: tuple[str, ...] = ()
    """The lines of the workflow that install the language."""
    install: Mapping[str, str] = field(default_factory=dict)
    """Maps a file of the project to the command that installs what it names; only the first one that exists
    counts."""


_FOLDER: Final = "{tests}/conform_adapter"
KITS: Final[Mapping[Language, Kit]] = {
    "python": Kit(
        title="Python",
        minimum="3.11",
        files={"{tests}/conform_adapter.py": "adapter.py.txt"},
        impl="python:{tests}/conform_adapter.py:adapter",
        comment="",
        raising="Do not catch exceptions. One raised inside the library is recorded and judged as an error\n"
        "  that the library reports; one raised in this file is an adapter error.",
    ),
    "node": Kit(
        title="Node.js",
        minimum="18",
        files={"{tests}/conform_adapter.mjs": "adapter.mjs.txt"},
        impl="cmd:node {tests}/conform_adapter.mjs",
        setup=("- uses: actions/setup-node@v4", "  with:", '    node-version: "22"'),
        install={"package-lock.json": "npm ci", "package.json": "npm install"},
    ),
    "go": Kit(
        title="Go",
        minimum="1.19",
        # Two files with a `main` function cannot share a folder. The separate folder also builds without a
        # go.mod.
        files={f"{_FOLDER}/main.go": "adapter.go.txt", f"{_FOLDER}/.gitignore": "gitignore.txt"},
        impl=f"cmd:{_FOLDER}/build/adapter",
        build=f"go build -o {_FOLDER}/build/adapter {_FOLDER}/main.go",
        raising=_ERRORS,
        setup=("- uses: actions/setup-go@v5", "  with:", '    go-version: "stable"'),
    ),
    "rust": Kit(
        title="Rust",
        minimum="1.63",
        # An example may use the crate and its dev-dependencies, but is not part of the library.
        files={
            "examples/conform_adapter/main.rs": "adapter.rs.txt",
            "examples/conform_adapter/json.rs": "json.rs.txt",
        },
        # The folder is named because that of a workspace is elsewhere.
        impl="cmd:target/conform/debug/examples/conform_adapter",
        build="cargo build --example conform_adapter --target-dir target/conform",
        comment="//! ",
        raising=_ERRORS,
    ),
    "java": Kit(
        title="Java",
        minimum="17",
        files={
            f"{_FOLDER}/src/main/java/ConformAdapter.java": "ConformAdapter.java.txt",
            f"{_FOLDER}/pom.xml": "pom.xml.txt",
            f"{_FOLDER}/.gitignore": "gitignore.txt",
        },
        impl=f"cmd:java -jar {_FOLDER}/build/conform-adapter.jar",
        build=f"mvn -q -f {_FOLDER} package",
        setup=(
            "- uses: actions/setup-java@v4",
            "  with:",
            "    distribution: temurin",
            '    java-version: "21"',
            "    cache: maven",
        ),
        install={"pom.xml": "mvn -q -DskipTests install"},
    ),
    "ruby": Kit(
        title="Ruby",
        minimum="3.1",
        files={"{tests}/conform_adapter.rb": "adapter.rb.txt"},
        impl="cmd:ruby {tests}/conform_adapter.rb",
        comment="# ",
        setup=("- uses: ruby/setup-ruby@v1", "  with:", '    ruby-version: "3.4"'),
        install={"Gemfile": "bundle install"},
    ),
    "php": Kit(
        title="PHP",
        minimum="8.2",
        files={"{tests}/conform_adapter.php": "adapter.php.txt"},
        impl="cmd:php {tests}/conform_adapter.php",
        setup=("- uses: shivammathur/setup-php@v2", "  with:", '    php-version: "8.4"'),
        install={"composer.json": "composer install --no-interaction"},
    ),
    "c": Kit(
        title="C",
        minimum="17",
        files={
            f"{_FOLDER}/adapter.c": "adapter.c.txt",
            f"{_FOLDER}/Makefile": "makefile.txt",
            f"{_FOLDER}/.gitignore": "gitignore.txt",
        },
        impl=f"cmd:{_FOLDER}/build/adapter",
        build=f"make --silent --directory {_FOLDER}",
        raising="An error that the library reports is a result: the code below sends it as `raised`, and is\n"
        "  judged. A crash ends the program, which is then started again.",
        setup=(
            "- run: sudo apt-get update",
            "- run: sudo apt-get install --yes libcjson-dev libcurl4-openssl-dev pkg-config",
        ),
    ),
    "perl": Kit(
        title="Perl",
        minimum="5.36",
        files={"{tests}/conform_adapter.pl": "adapter.pl.txt"},
        impl="cmd:perl {tests}/conform_adapter.pl",
        comment="# ",
        setup=(
            "- uses: shogo82148/actions-setup-perl@v1",
            "  with:",
            '    perl-version: "5.40"',
        ),
        install={
            "cpanfile": "cpanm --notest --installdeps .",
            "Makefile.PL": "cpanm --notest --installdeps .",
        },
    ),
}

_MANIFESTS: Final[tuple[tuple[str, Language | str], ...]] = (
    ("pyproject.toml", "python"),
    ("setup.py", "python"),
    ("Cargo.toml", "rust"),
    ("go.mod", "go"),
    ("pom.xml", "java"),
    ("build.gradle", "a JVM language with Gradle"),
    ("build.gradle.kts", "a JVM language with Gradle"),
    ("*.csproj", "C#"),
    ("*.fsproj", "F#"),
    ("*.sln", ".NET"),
    ("Package.swift", "Swift"),
    ("mix.exs", "Elixir"),
    ("build.zig", "Zig"),
    ("Gemfile", "ruby"),
    ("*.gemspec", "ruby"),
    ("composer.json", "php"),
    ("Makefile.PL", "perl"),
    ("cpanfile", "perl"),
    ("package.json", "node"),
    ("CMakeLists.txt", "c"),
)
"""The manifests of each language, and of languages that have no kit, which are described in words.

The first one that exists decides: projects in many languages have a `package.json` for their website, or
build a part with CMake.
"""


def detect_language(folder: Path) -> Language:
    """Return the language of the project in `folder`, or Python if it has no manifest.

    Raises `UsageError` if its language has no kit.
    """
    for pattern, language in _MANIFESTS:
        path = next(folder.glob(pattern), None)
        if path is None:
            continue
        if language in LANGUAGES:
            return language
        raise UsageError(
            f"`{path.name}` belongs to a project in {language}, for which there is no template. An adapter "
            f"is a program that speaks JSON lines: {_IN_ANY_LANGUAGE}. To use a template anyway, give its "
            f"language with `--language`: {', '.join(LANGUAGES)}"
        )
    return "python"


def _search(pattern: str) -> Callable[[str], str | None]:
    def find(text: str) -> str | None:
        match = re.search(pattern, text, re.MULTILINE | re.DOTALL)
        return match[1] if match else None

    return find


def _get_json_name(text: str) -> Any:
    return json.loads(text).get("name")


_NAMES: Final[Mapping[Language, tuple[str, Callable[[str], Any]]]] = {
    "node": ("package.json", _get_json_name),
    "go": ("go.mod", _search(r"^module\s+(?:\S*/)?([^\s/]+)/?\s*$")),
    "rust": ("Cargo.toml", lambda text: tomllib.loads(text).get("package", {}).get("name")),
    # The first artifact may be the parent.
    "java": ("pom.xml", _search(r"\A(?:.*</parent>)?.*?<artifactId>\s*([^<\s]+)")),
    "php": ("composer.json", _get_json_name),
    "c": ("CMakeLists.txt", _search(r"^\s*project\s*\(\s*\"?([^\s\")]+)")),
    "perl": ("Makefile.PL", _search(r"\bNAME\s*=>\s*['\"](.+?)['\"]")),
}
"""Maps a language to the manifest that has the project's name, and the function that finds it there."""


def read_name(folder: Path, language: Language) -> str | None:
    """Return the project's name in its manifest, if any. Raises `UsageError` for an invalid manifest."""
    manifest, find_name = _NAMES.get(language, ("", _get_json_name))
    path = folder / manifest
    if not path.is_file():
        return None
    try:
        name = find_name(read_regular(path).decode())
    except (OSError, ValueError, AttributeError) as error:
        raise UsageError(f"`{manifest}` cannot be read: {error}") from error
    return name if isinstance(name, str) and name else None
