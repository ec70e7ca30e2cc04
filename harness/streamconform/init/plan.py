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
from streamconform.init.kits import KITS, Kit, Language, read_name
from streamconform.install import INSTALL

AdapterMode = Literal["bytes", "http"]
ADAPTER_MODES: Final[tuple[AdapterMode, ...]] = get_args(AdapterMode)

KNOWN_FAILURES: Final = "conform-known-failures.yaml"
WORKFLOW: Final = ".github/workflows/conform.yml"
BUILD_MINUTES: Final = 10
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
    files: Mapping[str, str]
    """Maps the path of each file in the project to its template; the first one is the adapter."""
    impl: str
    """The value of `--impl`."""
    install: tuple[str, ...] = ()
    """The lines of the workflow that install the project."""
    build: str | None = None
    """The command that compiles the adapter."""
    first: str | None = None
    """The command to run before the first start: it compiles, or makes the library importable."""

    @property
    def adapter(self) -> str:
        """The path of the adapter in the project."""
        return next(iter(self.files))

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


def find_target(folder: Path, language: Language, package: str | None) -> AdapterTarget:
    """Return the target in `folder`. Raises `UsageError` for an invalid manifest or an unknown `package`."""
    if package is not None and language != "python":
        raise UsageError("`--package` is for Python only")
    if language == "rust" and not (folder / "Cargo.toml").exists():
        raise UsageError("no `Cargo.toml` here; run this in the folder of the crate")
    tests = next((name for name in ("tests", "test") if (folder / name).is_dir()), "tests")
    kit = KITS[language]
    if language == "python":
        name, install, first = _find_python_package(folder, package)
    else:
        name, install, first = read_name(folder, language), _find_install(folder, kit), kit.build
    return AdapterTarget(
        name=_clean_name(name or folder.resolve().name),
        language=language,
        files={path.format(tests=tests): template for path, template in kit.files.items()},
        impl=kit.impl.format(tests=tests),
        install=(*kit.setup, *(f"- run: {command}" for command in install)),
        build=kit.build and kit.build.format(tests=tests),
        first=first and first.format(tests=tests),
    )


def plan_files(
    folder: Path, target: AdapterTarget, apis: Sequence[str], mode: AdapterMode, profile: str
) -> Iterator[NewFile | Kept]:
    """Yield the files for `target`; the caller decides what to do with existing files."""
    config = "pyproject.toml" if _can_append(folder, target) else "conform.toml"
    quoted = ", ".join(f'"{api}"' for api in apis)
    fields = {
        "RULES": _format_rules(KITS[target.language]),
        "NAME": target.name,
        "MINIMUM": KITS[target.language].minimum,
        "IMPL": target.impl,
        "COMMAND": target.impl.removeprefix("cmd:"),
        "API": apis[0],
        "BUILD": target.build or "",
        "APIS": quoted,
        "ESCAPED_APIS": quoted.replace('"', '\\"'),
        "CONFIG": config,
        "KNOWN": KNOWN_FAILURES,
        "PROFILE": profile,
        "INSTALL": INSTALL,
        "SETUP": "\n".join(f"      {line}" for line in (*target.install, *_list_build_lines(target))),
    }
    for path, template in target.files.items():
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


def _list_build_lines(target: AdapterTarget) -> tuple[str, ...]:
    if target.build is None:
        return ()
    return ("- name: Build", f"  run: {target.build}", f"  timeout-minutes: {BUILD_MINUTES}")


def _find_install(folder: Path, kit: Kit) -> list[str]:
    return [command for path, command in kit.install.items() if (folder / path).is_file()][:1]


def _find_python_package(folder: Path, package: str | None) -> tuple[str | None, list[str], str | None]:
    """Return the package's name, the commands that install it in CI, and `AdapterTarget.first`."""
    packages = _find_packages(folder)
    if package is not None and not PACKAGE.fullmatch(package):
        raise UsageError(f"`--package {package}`: expected a name that can be imported")
    name = package or _find_main_package(folder, packages)
    if package is not None:
        package_folder = packages.get(package) or _find_package_folder(folder, package)
    else:
        package_folder = packages.get(name or "", "")
    install = ["pip install ."] if _is_installable(folder) else []
    # A package below `src/` cannot be imported from the project's folder before it is installed.
    first = "pip install -e ." if package_folder.startswith("src/") else None
    return name or _read_project_name(folder), install, first


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
    values = {"impl": target.impl, "build": target.build, "known_failures": KNOWN_FAILURES}
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items() if value)


def _read_tool_tables(folder: Path) -> Mapping[str, Any]:
    tool = _read_pyproject(folder).get("tool")
    return tool if isinstance(tool, Mapping) else {}


def _read_pyproject(folder: Path) -> Mapping[str, Any]:
    path = folder / "pyproject.toml"
    try:
        return tomllib.loads(read_regular(path).decode()) if path.is_file() else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise UsageError(f"`pyproject.toml` cannot be read: {error}; fix it first") from error


def _format_rules(kit: Kit) -> str:
    """Return the rules for adapters as a comment in the kit's language."""
    text = _read_template("rules.txt").replace("@RAISING@", kit.raising)
    return "\n".join(f"{kit.comment}{line}".rstrip() for line in text.rstrip("\n").split("\n"))


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
