"""Plan the files that `conform init` writes, based on the project's files; nothing is written here."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal, get_args

from streamconform.errors import UsageError
from streamconform.files import read_regular

Language = Literal["python", "node", "go", "rust"]
LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)
AdapterMode = Literal["bytes", "http"]
ADAPTER_MODES: Final[tuple[AdapterMode, ...]] = get_args(AdapterMode)

MINIMUM_VERSIONS: Final[Mapping[Language, str]] = {"node": "18", "go": "1.19", "rust": "1.63"}
"""The oldest versions that compile and run the templates: those of Debian 12. Python is that of `conform`."""
KNOWN_FAILURES: Final = "conform-known-failures.yaml"
WORKFLOW: Final = ".github/workflows/conform.yml"
RULES_PREFIX: Final[Mapping[Language, str]] = {"python": "", "node": "// ", "go": "// ", "rust": "//! "}
_PANICS: Final = (
    "An error or panic in the library is a result: the code below sends it as `raised`, and it is judged\n"
    "  as an error that the library reports."
)
RAISING: Final[Mapping[Language, str]] = {
    "python": "Do not catch exceptions. One raised inside the library is recorded and judged as an error\n"
    "  that the library reports; one raised in this file is an adapter error.",
    "node": "An exception in the library is a result: the code below sends it as `raised`, and it is judged\n"
    "  as an error that the library reports. An exception in this file is an adapter error, `errored`.",
    "go": _PANICS,
    "rust": _PANICS,
}
"""The advice on exceptions in templates."""
OTHER_FOLDERS: Final = frozenset(
    {"benchmarks", "build", "dist", "docs", "examples", "scripts", "test", "tests", "tools"}
)
"""Folders that may contain Python files but are not the project's package."""
PACKAGE: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_SECTION: Final = re.compile(r"^@(bytes|http)@\n(.*?)^@end@\n", re.MULTILINE | re.DOTALL)
"""A part of a template that applies to one input mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterTarget:
    """The library to test, and where its adapter goes."""

    name: str
    language: Language
    impl: str
    """The value of `--impl`."""
    adapter: str
    """Path of the adapter in the project."""
    template: str
    extra_files: Mapping[str, str]
    """Maps the path of each file that the adapter needs to its template."""
    install: tuple[str, ...] = ()
    """The lines of the workflow that install or compile the project."""
    first: str | None = None
    """The command to run before the adapter starts: it makes the library importable, or compiles both.

    Compiling while the adapter starts would count as the start, which has a time limit.
    """

    @property
    def arguments(self) -> str:
        """The arguments that name the implementation in a `smoke` command."""
        return f"-- {self.impl.removeprefix('cmd:')}" if self.impl.startswith("cmd:") else self.impl


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file: its path in the project, and its text, appended to an existing file if `appends` is set."""

    path: str
    text: str
    appends: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """A file that is not changed, and the reason."""

    path: str
    why: str


def detect_language(folder: Path) -> Language:
    """Return the language of the project in `folder`, or Python if nothing indicates another one."""
    manifests: tuple[tuple[Language, str], ...] = (
        ("python", "pyproject.toml"),
        ("python", "setup.py"),
        ("rust", "Cargo.toml"),
        ("go", "go.mod"),
        ("node", "package.json"),
    )
    if _find_packages(folder):
        return "python"
    return next((language for language, name in manifests if (folder / name).is_file()), "python")


def find_target(folder: Path, language: Language, package: str | None) -> AdapterTarget:
    """Return the target in `folder`. Raises `UsageError` for an invalid manifest or an unknown `package`."""
    if package is not None and language != "python":
        raise UsageError("`--package` is for Python only")
    tests = next((name for name in ("tests", "test") if (folder / name).is_dir()), "tests")
    match language:
        case "python":
            return _find_python_target(folder, tests, package)
        case "node":
            return _find_node_target(folder, tests)
        case "go":
            return _find_go_target(folder, tests)
        case "rust":
            return _find_rust_target(folder)


def plan_files(
    folder: Path, target: AdapterTarget, apis: Sequence[str], mode: AdapterMode, profile: str
) -> Iterator[NewFile | Kept]:
    """Yield the files for `target`; the caller decides what to do with existing files."""
    config = "pyproject.toml" if _can_append(folder, target) else "conform.toml"
    fields = {
        "RULES": _format_rules(target.language),
        "NAME": target.name,
        "MINIMUM": MINIMUM_VERSIONS.get(target.language, ""),
        "IMPL": target.impl,
        "COMMAND": target.impl.removeprefix("cmd:"),
        "API": apis[0],
        "APIS": ", ".join(f'"{api}"' for api in apis),
        "CONFIG": config,
        "KNOWN": KNOWN_FAILURES,
        "PROFILE": profile,
        "SETUP": "\n".join(f"      {line}" for line in target.install),
    }
    for path, template in ((target.adapter, target.template), *target.extra_files.items()):
        yield NewFile(path, _fill(template, fields, mode))
    yield NewFile(WORKFLOW, _fill("workflow.yml.txt", fields))
    yield NewFile(KNOWN_FAILURES, _fill("known-failures.yaml.txt", fields))
    text = _format_config(target)
    if config == "conform.toml":
        yield NewFile(config, text)
    elif "conform" in _read_tool_tables(folder):
        yield Kept(config, "it already has [tool.conform], which is not changed")
    else:
        yield NewFile(config, f"\n[tool.conform]\n{text}", appends=True)


def _find_python_target(folder: Path, tests: str, package: str | None) -> AdapterTarget:
    packages = _find_packages(folder)
    if package is not None and not PACKAGE.fullmatch(package):
        raise UsageError(f"`--package {package}`: expected a name that can be imported")
    name = package or _find_main_package(folder, packages)
    if package is not None:
        package_folder = packages.get(package) or _find_package_folder(folder, package)
    else:
        package_folder = packages.get(name or "", "")
    adapter = f"{tests}/conform_adapter.py"
    return AdapterTarget(
        name=name or _clean_name(_read_project_name(folder) or folder.resolve().name),
        language="python",
        impl=f"python:{adapter}:adapter",
        adapter=adapter,
        template="adapter.py.txt",
        extra_files={},
        install=("- run: pip install .",) if _is_installable(folder) else (),
        # A package below `src/` cannot be imported from the project's folder before it is installed.
        first="pip install -e ." if package_folder.startswith("src/") else None,
    )


def _find_node_target(folder: Path, tests: str) -> AdapterTarget:
    manifest = folder / "package.json"
    try:
        name = json.loads(read_regular(manifest).decode()).get("name") if manifest.is_file() else None
    except (ValueError, AttributeError, OSError) as error:
        raise UsageError(f"`package.json` cannot be read: {error}") from error
    install = ["- uses: actions/setup-node@v4", "  with:", '    node-version: "22"']
    if manifest.is_file():
        locked = (folder / "package-lock.json").is_file()
        install.append("- run: npm ci" if locked else "- run: npm install")
    adapter = f"{tests}/conform_adapter.mjs"
    return AdapterTarget(
        name=_clean_name(name if isinstance(name, str) and name else folder.resolve().name),
        language="node",
        impl=f"cmd:node {adapter}",
        adapter=adapter,
        template="adapter.mjs.txt",
        extra_files={},
        install=tuple(install),
    )


def _find_go_target(folder: Path, tests: str) -> AdapterTarget:
    manifest = folder / "go.mod"
    try:
        text = read_regular(manifest).decode() if manifest.is_file() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"`go.mod` cannot be read: {error}") from error
    module = re.search(r"^module\s+(\S+)", text, re.MULTILINE)
    # Two files with a `main` function cannot share a folder. The separate folder also builds without a
    # go.mod.
    adapter = f"{tests}/conform_adapter/main.go"
    # `go run` reuses the packages that this compiles.
    build = f"go build -o /dev/null {adapter}"
    return AdapterTarget(
        name=_clean_name(module[1].rstrip("/").rpartition("/")[2] if module else folder.resolve().name),
        language="go",
        impl=f"cmd:go run {adapter}",
        adapter=adapter,
        template="adapter.go.txt",
        extra_files={},
        install=("- uses: actions/setup-go@v5", "  with:", '    go-version: "stable"', f"- run: {build}"),
        first=build,
    )


def _find_rust_target(folder: Path) -> AdapterTarget:
    try:
        package = tomllib.loads(read_regular(folder / "Cargo.toml").decode()).get("package", {})
        name = package.get("name")
    except FileNotFoundError as error:
        raise UsageError("no `Cargo.toml` here; run this in the folder of the crate") from error
    except (OSError, ValueError, AttributeError) as error:
        raise UsageError(f"`Cargo.toml` cannot be read: {error}") from error
    # An example may use the crate and its dev-dependencies, but is not part of the library.
    build = "cargo build --example conform_adapter"
    return AdapterTarget(
        name=_clean_name(name if isinstance(name, str) else folder.resolve().name),
        language="rust",
        impl="cmd:cargo run --quiet --example conform_adapter",
        adapter="examples/conform_adapter/main.rs",
        template="adapter.rs.txt",
        extra_files={"examples/conform_adapter/json.rs": "json.rs.txt"},
        install=(f"- run: {build}",),
        first=build,
    )


def _clean_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9@/._-]", "-", name) or "project"


def _find_packages(folder: Path) -> dict[str, str]:
    """Return a project's packages, as a mapping from name to folder."""
    packages: dict[str, str] = {}
    for base in ("", "src/"):
        for path in sorted((folder / base).glob("*/__init__.py")):
            name = path.parent.name
            if PACKAGE.fullmatch(name) and name not in OTHER_FOLDERS:
                packages.setdefault(name, f"{base}{name}")
    return packages


def _find_main_package(folder: Path, packages: Mapping[str, str]) -> str | None:
    """Return the package with the project's name, or else the only package, or else None."""
    name = _read_project_name(folder)
    module = None if name is None else re.sub(r"[-.]+", "_", name).lower()
    same = next((package for package in packages if package.lower() == module), None)
    return same or (next(iter(packages)) if len(packages) == 1 else None)


def _read_project_name(folder: Path) -> str | None:
    project = _read_pyproject(folder).get("project")
    name = project.get("name") if isinstance(project, Mapping) else None
    return name if isinstance(name, str) else None


def _find_package_folder(folder: Path, package: str) -> str:
    """Return the folder of `package`. Raises `UsageError`."""
    inner = package.replace(".", "/")
    for path in (inner, f"src/{inner}"):
        if (folder / path).is_dir():
            return path
    raise UsageError(f"`--package {package}`: there is no folder `{inner}` or `src/{inner}` here")


def _is_installable(folder: Path) -> bool:
    return "build-system" in _read_pyproject(folder) or (folder / "setup.py").is_file()


def _can_append(folder: Path, target: AdapterTarget) -> bool:
    """Return whether the config goes into `pyproject.toml`, which must exist and accept another table."""
    path = folder / "pyproject.toml"
    if (folder / "conform.toml").exists() or not path.is_file():
        return False
    if "conform" in _read_tool_tables(folder):
        return True
    try:
        tomllib.loads(read_regular(path).decode() + f"\n[tool.conform]\n{_format_config(target)}")
    except tomllib.TOMLDecodeError:
        return False
    return True


def _format_config(target: AdapterTarget) -> str:
    return _fill("config.toml.txt", {"IMPL": json.dumps(target.impl), "KNOWN": json.dumps(KNOWN_FAILURES)})


def _read_tool_tables(folder: Path) -> Mapping[str, Any]:
    tool = _read_pyproject(folder).get("tool")
    return tool if isinstance(tool, Mapping) else {}


def _read_pyproject(folder: Path) -> Mapping[str, Any]:
    path = folder / "pyproject.toml"
    try:
        return tomllib.loads(read_regular(path).decode()) if path.is_file() else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise UsageError(f"`pyproject.toml` cannot be read: {error}; fix it first") from error


def _format_rules(language: Language) -> str:
    """Return the rules for adapters as a comment in the target's language."""
    text = _read_template("rules.txt").replace("@RAISING@", RAISING[language])
    return "\n".join(f"{RULES_PREFIX[language]}{line}".rstrip() for line in text.rstrip("\n").split("\n"))


def _fill(template: str, fields: Mapping[str, str], mode: AdapterMode = "bytes") -> str:
    """Fill in a template's fields and keep the sections for `mode`; an empty SETUP line is removed."""
    text = _SECTION.sub(lambda match: match[2] if match[1] == mode else "", _read_template(template))
    for key, value in fields.items():
        if key == "SETUP":
            text = text.replace(f"@{key}@\n", f"{value}\n" if value else "")
        else:
            text = text.replace(f"@{key}@", value)
    return text


def _read_template(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")
