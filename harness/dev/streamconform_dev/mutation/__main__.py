"""Run mutmut, and compare the survivors with the list: `python -m streamconform_dev.mutation PACKAGE…`.

PACKAGE is `known_failures`, `suite` or `judge`; `known_failures.match` runs the mutants of one module.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from streamconform_dev.mutation.survivors import (
    Mutation,
    format_entry,
    is_exempt,
    load_survivors,
    make_mutation,
)
from streamconform_dev.mutation.workspace import TESTS, make_workspace

KILLED = ("killed", "timeout", "segfault", "caught by type check")


def main(names: list[str]) -> int:
    """Return the exit code: 0 if the survivors are exactly the listed ones."""
    wrong = [name for name in names if name.partition(".")[0] not in TESTS]
    if wrong or not names:
        _print(f"usage: python -m streamconform_dev.mutation PACKAGE…, with a package of {', '.join(TESTS)}")
        return 2
    packages = dict.fromkeys(name.partition(".")[0] for name in names)
    return max(
        [_run(package, [name for name in names if name.partition(".")[0] == package]) for package in packages]
    )


def _run(package: str, names: list[str]) -> int:
    """Run the mutants of a package, or of some of its modules in one run of mutmut."""
    workspace = make_workspace(package, names)
    log = workspace.with_suffix(".log")
    modules = [f"streamconform.{name}" for name in names]
    # mutmut forks one process per mutant, and runs in it only the tests that call the mutated function.
    command = [
        sys.executable,
        "-m",
        "mutmut",
        "run",
        "--max-children",
        "1",
        *(f"{module}.*" for module in modules),
    ]
    # Finding the plugins of all installed packages would take half of the time of a mutant.
    env = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    with log.open("w") as output:
        ran = subprocess.run(
            command, cwd=workspace, env=env, stdout=output, stderr=subprocess.STDOUT, check=False
        )
    os.chdir(workspace)  # the folder in which mutmut looks for its results
    codes = [_compare(module) for module in modules]
    if ran.returncode:
        _print(f"mutmut failed with exit code {ran.returncode}; see {log}")
        return 1
    return max(codes)


def _compare(module: str) -> int:
    """Print how the survivors of a module differ from the listed ones; return 0 if they do not."""
    statuses: Counter[str] = Counter()
    survived: dict[Mutation, str] = {}
    for function, status, before, after in _read_results(module):
        if status in KILLED:
            statuses["killed"] += 1
        elif is_exempt(before, after):
            statuses["exempt"] += 1
        else:
            statuses[status] += 1
            survived[make_mutation(function, before, after)] = status
    _print(f"{module}: {', '.join(f'{count} {status}' for status, count in statuses.most_common())}")
    if not statuses:
        _print(f"{module}: there are no mutants")
        return 1
    listed = {
        entry.mutation for entry in load_survivors() if f"{entry.mutation.function}.".startswith(f"{module}.")
    }
    for mutation, status in survived.items():
        if mutation not in listed:
            _print(f"\n{status}: kill it with a test, or add to survivors.yaml:\n{format_entry(mutation)}")
    for mutation in listed - survived.keys():
        _print(f"\nkilled; remove it from survivors.yaml:\n{format_entry(mutation)}")
    return int(survived.keys() != listed)


def _read_results(module: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield function, status, original source and mutated source of every mutant that ran."""
    from mutmut.mutation.diff_apply import read_functions_from_index
    from mutmut.stats import status_by_exit_code
    from mutmut.utils.format_utils import get_module_from_key, orig_function_and_class_names_from_key

    for path in sorted(Path("mutants/src").rglob("*.meta")):
        source = path.relative_to("mutants").with_suffix("")
        for key, code in json.loads(path.read_text("utf-8"))["exit_code_by_key"].items():
            if not key.startswith(f"{module}."):
                continue
            functions = read_functions_from_index(key, source)
            assert functions is not None, f"mutmut has no source for {key}"
            name, class_name = orig_function_and_class_names_from_key(key)
            function = ".".join(part for part in (get_module_from_key(key), class_name, name) if part)
            before, after = (_to_code(function_) for function_ in functions)
            yield function, status_by_exit_code[code], before, after


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _to_code(function: object) -> str:
    import libcst

    assert isinstance(function, libcst.FunctionDef)
    code: str = libcst.Module([function]).code
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
