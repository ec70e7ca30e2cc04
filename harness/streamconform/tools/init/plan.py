"""What `conform init` is going to write: found out by looking at a project, not written here."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal

from streamconform.errors import UsageError

Language = Literal["python", "node"]

KNOWN: Final = "conform-known-failures.yaml"
WORKFLOW: Final = ".github/workflows/conform.yml"
NO_PACKAGES: Final = frozenset(
    {"benchmarks", "build", "dist", "docs", "examples", "scripts", "test", "tests", "tools"}
)
"""Folders that hold Python, but not what a project is about."""
PACKAGE: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is to be judged, and where its adapter goes."""

    name: str
    impl: str
    words: str
    """How `smoke` and `run` are told of it."""
    adapter: str
    """Path of the adapter in the project."""
    template: str
    install: tuple[str, ...] = ()
    """Lines of the workflow that make it importable."""
    first: str | None = None
    """A command that is needed before the adapter can be reached."""


@dataclass(frozen=True, slots=True)
class NewFile:
    """One file: its path in the project and its text, put behind what is there where `appends`."""

    path: str
    text: str
    appends: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """A file that stays as it is, and why."""

    path: str
    why: str


def target(folder: Path, language: Language, package: str | None) -> Target:
    """Return what is to be judged in `folder`; raises `UsageError` where that cannot be told."""
    if language == "node":
        if package is not None:
            raise UsageError("`--package` is for Python; a program in JavaScript needs none")
        return _node(folder)
    return _python(folder, package)


def planned(folder: Path, of: Target, apis: Sequence[str]) -> Iterator[NewFile | Kept]:
    """Yield the files for `of`; whether they are there already is for the writer to see."""
    config = "pyproject.toml" if _appendable(folder, of) else "conform.toml"
    fields = {
        "NAME": of.name,
        "IMPL": of.impl,
        "COMMAND": of.impl.removeprefix("cmd:"),
        "APIS": ", ".join(f'"{api}"' for api in apis),
        "CONFIG": config,
        "KNOWN": KNOWN,
        "SETUP": "\n".join(f"      {line}" for line in of.install),
    }
    yield NewFile(of.adapter, _filled(of.template, fields))
    yield NewFile(WORKFLOW, _filled("workflow.yml.txt", fields))
    yield NewFile(KNOWN, _filled("known-failures.yaml.txt", fields))
    text = _config(of)
    if config == "conform.toml":
        yield NewFile(config, text)
    elif "conform" in _tool(folder):
        yield Kept(config, "it has [tool.conform] already; nothing in it is changed")
    else:
        yield NewFile(config, f"\n[tool.conform]\n{text}", appends=True)


def _python(folder: Path, package: str | None) -> Target:
    found = _packages(folder)
    if package is None:
        package = _the_one(folder, found)
    elif not PACKAGE.fullmatch(package):
        raise UsageError(f"`--package {package}`: expected a name that can be imported")
    install = ("- run: pip install .",) if _installable(folder) else ()
    if package is None:
        name = re.sub(r"[^A-Za-z0-9._-]", "-", folder.resolve().name) or "project"
        return Target(
            name=name,
            impl="python:conform_adapter:adapter",
            words="python:conform_adapter:adapter",
            adapter="conform_adapter.py",
            template="conform.py.txt",
            install=install,
        )
    where = found.get(package) or _folder(folder, package)
    return Target(
        name=package,
        impl=package,
        words=package,
        adapter=f"{where}/conform.py",
        template="conform.py.txt",
        install=install,
        first="pip install -e ." if where.startswith("src/") else None,
    )


def _node(folder: Path) -> Target:
    manifest = folder / "package.json"
    try:
        told = json.loads(manifest.read_text("utf-8")).get("name") if manifest.is_file() else None
    except (ValueError, AttributeError, OSError) as error:
        raise UsageError(f"`package.json` cannot be read: {error}") from error
    name = re.sub(
        r"[^A-Za-z0-9@/._-]", "-", told if isinstance(told, str) and told else folder.resolve().name
    )
    locked = (folder / "package-lock.json").is_file()
    install = ["- uses: actions/setup-node@v4", "  with:", '    node-version: "22"']
    if manifest.is_file():
        install.append("- run: npm ci" if locked else "- run: npm install")
    return Target(
        name=name,
        impl="cmd:node conform_adapter.mjs",
        words="-- node conform_adapter.mjs",
        adapter="conform_adapter.mjs",
        template="conform_adapter.mjs.txt",
        install=tuple(install),
    )


def _packages(folder: Path) -> dict[str, str]:
    """Return the packages of a project, by name, with their folders."""
    found: dict[str, str] = {}
    for base in ("", "src/"):
        for path in sorted((folder / base).glob("*/__init__.py")):
            name = path.parent.name
            if PACKAGE.fullmatch(name) and name not in NO_PACKAGES:
                found.setdefault(name, f"{base}{name}")
    return found


def _the_one(folder: Path, found: Mapping[str, str]) -> str | None:
    """Return the package that the project is about, None where there is none."""
    project = _pyproject(folder).get("project")
    told = project.get("name") if isinstance(project, Mapping) else None
    named = re.sub(r"[-.]+", "_", told).lower() if isinstance(told, str) else None
    same = next((name for name in found if name.lower() == named), None)
    if same is None and len(found) > 1:
        names = ", ".join(f"`{name}`" for name in found)
        raise UsageError(f"there are several packages here, {names}: say which with `--package NAME`")
    return same or next(iter(found), None)


def _folder(folder: Path, package: str) -> str:
    """Return the folder of a package that was named; raises `UsageError`."""
    inside = package.replace(".", "/")
    for where in (inside, f"src/{inside}"):
        if (folder / where).is_dir():
            return where
    raise UsageError(f"`--package {package}`: there is no folder `{inside}` or `src/{inside}` here")


def _installable(folder: Path) -> bool:
    return "build-system" in _pyproject(folder) or (folder / "setup.py").is_file()


def _appendable(folder: Path, of: Target) -> bool:
    """Return whether the config goes into `pyproject.toml`: it is there, and a table can be put behind it."""
    path = folder / "pyproject.toml"
    if (folder / "conform.toml").exists() or not path.is_file():
        return False
    if "conform" in _tool(folder):
        return True
    try:
        tomllib.loads(path.read_text("utf-8") + f"\n[tool.conform]\n{_config(of)}")
    except tomllib.TOMLDecodeError:
        return False
    return True


def _config(of: Target) -> str:
    return _filled("config.toml.txt", {"IMPL": json.dumps(of.impl), "KNOWN": json.dumps(KNOWN)})


def _tool(folder: Path) -> Mapping[str, Any]:
    tool = _pyproject(folder).get("tool")
    return tool if isinstance(tool, Mapping) else {}


def _pyproject(folder: Path) -> Mapping[str, Any]:
    path = folder / "pyproject.toml"
    try:
        return tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise UsageError(f"`pyproject.toml` cannot be read: {error}; fix it first") from error


def _filled(template: str, fields: Mapping[str, str]) -> str:
    """Return a template with its places filled in; a line that is nothing but an empty place goes."""
    text = files(__package__).joinpath(template).read_text("utf-8")
    for key, value in fields.items():
        text = (
            text.replace(f"@{key}@\n", f"{value}\n" if value else "")
            if key == "SETUP"
            else text.replace(f"@{key}@", value)
        )
    return text
