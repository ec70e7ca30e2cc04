"""The dependencies between packages, read from the source: which may import which."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HARNESS = ROOT / "harness/streamconform"
CAPTURE = ROOT / "harness/streamconform_capture"
PEERS = ROOT / "harness/streamconform_peers"
WORKSHOP = ROOT / "harness/dev/streamconform_dev"
REFERENCE = ROOT / "reference_impl/streamconform_reference"
CLIENT = ROOT / "reference_impl/streamconform_client"
MUTANTS = ROOT / "reference_impl/streamconform_mutants"
INNOCENTS = ROOT / "reference_impl/streamconform_innocents"
PROXY = ROOT / "reference_impl/streamconform_proxy"

MAY_IMPORT = {
    HARNESS: (),
    CAPTURE: (HARNESS, REFERENCE, MUTANTS),
    PEERS: (HARNESS,),
    WORKSHOP: (HARNESS, CAPTURE, PEERS, REFERENCE, CLIENT, MUTANTS, INNOCENTS, PROXY),
    REFERENCE: (),
    CLIENT: (REFERENCE,),
    MUTANTS: (REFERENCE, CLIENT),
    INNOCENTS: (),
    PROXY: (HARNESS, REFERENCE),
}
"""Each package of the repository, and the others that it may import. The judge needs none of them."""

PIPELINE = (
    "model",
    "yaml_text",
    "wire",
    "apis",
    "schemas",
    "delivery",
    "suite",
    "adapters",
    "replay",
    "judge",
    "causes",
    "known_failures",
    "run",
    "reports",
)
"""The packages that a trial passes through, from its spec to a report; each imports only earlier ones."""

IMPLEMENTATIONS = frozenset(
    {"streamconform_reference", "streamconform_client", "streamconform_mutants", "streamconform_innocents"}
)

LISTS_MUTANTS = "cli/completion.py"
"""The shell completes the names of mutants, which are in no other place."""

DESCRIBES_COMMANDS = WORKSHOP / "site/reference.py"
"""The reference of the website describes every command and its options."""

MAY_NAME_IT = ("adapters/connect.py", "adapters/host.py")
"""The first writes `streamconform_mutants:…` into a program's argv, the second looks the reference's name up
in `sys.modules`; neither imports anything from them."""

PURE = ("model", "wire", "apis", "delivery", "judge", "causes")
NO_IO = frozenset(
    [
        "aiohttp",
        "asyncio",
        "click",
        "concurrent",
        "ctypes",
        "glob",
        "http",
        "httpx",
        "io",
        "jinja2",
        "logging",
        "multiprocessing",
        "os",
        "pathlib",
        "requests",
        "rich",
        "select",
        "selectors",
        "shutil",
        "signal",
        "socket",
        "sqlite3",
        "ssl",
        "subprocess",
        "sys",
        "tempfile",
        "threading",
        "time",
        "urllib",
        "vcr",
        "yaml",
    ]
)
SYSTEM = HARNESS / "system.py"
"""The module that reaches what only some operating systems have."""
NOT_EVERYWHERE = frozenset({
    "fcntl", "grp", "msvcrt", "pty", "pwd", "resource", "termios", "tty", "winreg", "winsound",
    "os.fork", "os.forkpty", "os.getpgid", "os.getuid", "os.killpg", "os.mkfifo", "os.name",
    "os.register_at_fork", "os.setsid", "os.sysconf", "os.waitpid", "signal.ITIMER_REAL",
    "signal.SIGALRM", "signal.SIGHUP", "signal.SIGKILL", "signal.SIGPIPE", "signal.alarm",
    "signal.setitimer", "socket.AF_UNIX", "sys.platform",
})  # fmt: skip
NOT_ON_EVERY_LOOP = frozenset({"add_signal_handler", "create_unix_server", "open_unix_connection"})
"""Methods of an event loop that Windows does not have."""
NO_FACE = frozenset({"click", "yaml", "rich", "jinja2"})
SAYS_NOTHING = frozenset({"utils", "util", "helpers", "helper", "manager", "managers", "common", "misc"})


@dataclass(frozen=True)
class Module:
    path: Path
    name: str
    """The path relative to its package, with slashes."""
    tree: ast.Module

    @property
    def part(self) -> str:
        return self.name.removesuffix(".py").partition("/")[0]

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        return tuple(ast.walk(self.tree))

    def texts(self) -> list[str]:
        """Return every string literal."""
        values = [node.value for node in self.nodes if isinstance(node, ast.Constant)]
        return [value for value in values if isinstance(value, str)]

    def imports(self) -> set[str]:
        """Return the absolute names of all imported modules, including imports in functions."""
        found: set[str] = set()
        for node in self.nodes:
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
        return found

    def roots(self) -> set[str]:
        return {name.partition(".")[0] for name in self.imports()}


@cache
def modules(package: Path) -> tuple[Module, ...]:
    read = []
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        if not name.startswith("_bundled/"):
            text = path.read_text("utf-8")
            read.append(Module(path, name, ast.parse(text)))
    return tuple(read)


def harness(*parts: str) -> list[Module]:
    return [each for each in modules(HARNESS) if not parts or each.part in parts]


def everything() -> list[Module]:
    return [each for package in MAY_IMPORT for each in modules(package)]


@pytest.mark.parametrize("package", MAY_IMPORT, ids=lambda package: package.name)
def test_a_package_imports_only_those_that_it_may(package):
    others = {each.name for each in MAY_IMPORT} - {package.name, *(each.name for each in MAY_IMPORT[package])}
    assert [
        (each.name, each.roots() & others)
        for each in modules(package)
        if each.roots() & others and each.name != LISTS_MUTANTS
    ] == []


def test_the_judge_reaches_the_reference_like_anyones_parser():
    assert [
        (each.name, text)
        for each in harness()
        if each.name not in MAY_NAME_IT
        for text in each.texts()
        if any(name in text for name in IMPLEMENTATIONS)
    ] == []


def test_pure_modules_import_nothing_that_does_io():
    assert [(each.name, each.roots() & NO_IO) for each in harness(*PURE) if each.roots() & NO_IO] == []


def test_the_api_records_import_only_the_model_and_the_wire():
    below = ("streamconform.apis", "streamconform.model", "streamconform.wire")
    assert [
        (each.name, name)
        for each in harness("apis")
        for name in each.imports()
        if name.startswith("streamconform.") and not name.startswith(below)
    ] == []


def test_what_converts_the_values_of_libraries_needs_only_the_standard_library():
    """It runs in the environments of the libraries; `request_reader` runs there too."""
    allowed = ("streamconform.normal", "streamconform.adapters.request_reader")
    assert [
        (each.name, name)
        for each in modules(HARNESS)
        if each.part == "normal" or each.name == "adapters/request_reader.py"
        for name in each.imports()
        if not name.startswith(allowed) and name.partition(".")[0] not in sys.stdlib_module_names
    ] == []


def test_the_judge_knows_of_adapters_only_the_values_that_pass():
    values = "streamconform.adapters.interface"
    assert [
        (each.name, name)
        for each in harness("judge")
        for name in each.imports()
        if name.startswith("streamconform.adapters") and not name.startswith(values)
    ] == []


def test_a_run_has_no_face():
    """The orchestration is used by the command line, pytest and tests: no options, YAML or colors."""
    assert [(each.name, each.roots() & NO_FACE) for each in harness("run") if each.roots() & NO_FACE] == []


def test_only_command_lines_import_the_command_line():
    """The Python API and the pytest plugin select and judge without it: no click, no shell completion."""
    assert [
        (str(each.path), name)
        for each in everything()
        if each.part not in ("cli", "__main__", "verbs") and each.path != DESCRIBES_COMMANDS
        for name in each.imports()
        if name == "click" or name.startswith("streamconform.cli")
    ] == []


def test_one_module_reaches_what_only_some_systems_have():
    """Programs for maintainers need Linux anyway."""
    assert [
        (str(each.path), name)
        for each in everything()
        if each.path != SYSTEM and WORKSHOP not in each.path.parents
        for name in names_not_everywhere(each)
    ] == []


def names_not_everywhere(module):
    for node in module.nodes:
        if isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            if name in NOT_EVERYWHERE or node.attr in NOT_ON_EVERY_LOOP:
                yield name
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value in ("fork", "forkserver") or node.value.startswith("/proc"):
                yield node.value
        elif isinstance(node, ast.keyword) and node.arg in ("preexec_fn", "pass_fds"):
            yield node.arg
    yield from NOT_EVERYWHERE & module.imports()


def test_the_module_for_systems_is_found_to_name_them():
    module = next(each for each in harness() if each.path == SYSTEM)
    assert {"os.killpg", "resource", "/proc", "fork"} <= set(names_not_everywhere(module))


def test_settings_are_typed_values():
    """Only `config.py` reads them from a mapping. A peer's settings are its library's keyword arguments."""
    assert [
        (each.name, function.name)
        for each in everything()
        if each.part != "config" and PEERS not in each.path.parents
        for function in each.nodes
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for argument in (*function.args.args, *function.args.kwonlyargs)
        if argument.arg.endswith("settings") and re.search(r"[Dd]ict|Mapping|Any", annotation(argument))
    ] == []


def annotation(argument):
    return ast.unparse(argument.annotation) if argument.annotation is not None else ""


def test_a_package_of_the_pipeline_imports_only_earlier_ones():
    for number, part in enumerate(PIPELINE):
        imported = {
            name.split(".")[1]
            for each in harness(part)
            for name in each.imports()
            if name.startswith("streamconform.")
        }
        assert not imported & set(PIPELINE[number + 1 :]), part


def test_the_architecture_page_lists_the_pipeline_in_this_order():
    assert f"in import order `{' '.join(PIPELINE)}`" in (ROOT / "ARCHITECTURE.md").read_text("utf-8")


def test_the_pipeline_imports_neither_the_command_line_nor_another_face():
    above = tuple(f"streamconform.{name}" for name in ("cli", "config", "init", "library", "pytest", "smoke"))
    reports = ("streamconform.reports",)
    assert [
        (each.name, name)
        for each in harness(*PIPELINE)
        for name in each.imports()
        if name.startswith(above if each.part == "reports" else above + reports)
    ] == []


def test_nothing_imports_the_public_names_from_below():
    """The root imports the Python API, which imports nearly everything: an import of the root is a cycle."""
    submodules = {path.stem for path in HARNESS.iterdir()}
    assert [
        (each.name, alias.name)
        for each in harness()
        for node in each.nodes
        if isinstance(node, ast.ImportFrom) and node.module == HARNESS.name
        for alias in node.names
        if alias.name not in submodules
    ] == []


@pytest.mark.parametrize("package", MAY_IMPORT, ids=lambda package: package.name)
def test_packages_import_each_other_in_one_direction(package):
    """No two packages depend on each other, even indirectly."""
    left = arrows(package)
    while free := [part for part, below in left.items() if not below & left.keys()]:
        for part in free:
            del left[part]
    assert not left, f"a cycle among {sorted(left)}"


def arrows(package):
    """Return the packages that each package in `package` imports."""
    found = {}
    for module in modules(package):
        if module.name == "__init__.py":  # the public names, imported on first use
            continue
        own = found.setdefault(folder(module.path, package), set())
        for name in module.imports():
            path = package.parent / name.replace(".", "/")
            target = next(
                (each for each in (path.with_suffix(".py"), path / "__init__.py") if each.exists()), None
            )
            if target is not None and package in target.parents:
                own.add(folder(target, package))
    return {part: below - {part} for part, below in found.items()}


def folder(path, package):
    """Return the package that contains `path`; `apis/NAME` are separate packages."""
    parts = path.relative_to(package).with_suffix("").parts
    depth = 2 if parts[0] == "apis" and len(parts) > 2 else 1
    return "/".join(parts[:depth])


def test_only_one_module_reads_yaml():
    readers = {f"{each.path.relative_to(ROOT)}" for each in everything() if "yaml" in each.roots()}
    assert readers <= {
        "harness/streamconform/yaml_text/builder.py",
        "harness/streamconform/yaml_text/writer.py",
        "harness/streamconform_capture/importers/vcr.py",  # files of other tools, which have anchors and tags
    }


def test_the_modules_of_the_command_line_import_each_other_in_one_direction():
    imported = {
        f"streamconform.{each.name.removesuffix('.py').replace('/', '.')}": each.imports()
        for each in harness("cli")
        if each.path.name != "__init__.py"
    }
    left = {name: names & imported.keys() for name, names in imported.items()}
    while free := [name for name, below in left.items() if not below & left.keys()]:
        for name in free:
            del left[name]
    assert not left, f"a cycle among {sorted(left)}"


def test_a_module_has_a_docstring():
    assert [str(each.path) for each in everything() if not (ast.get_docstring(each.tree) or "").strip()] == []


def test_a_module_is_named_after_something():
    names = {each.path: {each.path.stem, each.path.parent.name} for each in everything()}
    assert [str(path) for path, words in names.items() if SAYS_NOTHING & words] == []
