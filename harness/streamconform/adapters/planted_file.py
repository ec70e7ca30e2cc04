"""Check the file of `plant:FILE` without running it, so that a mistake in it is reported with its line."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from streamconform.adapters.host import explain_missing_file
from streamconform.errors import UsageError
from streamconform.files import read_regular

PLANTS: Final = ("change_outcome", "change_chunks", "decoders", "adapter")
"""The names of which a file defines one; docs/plant.md describes each."""


def check_planted_file(path: str) -> None:
    """Raise `UsageError` if the file at `path` cannot be read or parsed, or does not define one plant."""
    if not path.endswith(".py"):
        raise UsageError(f"`{path}`: expected the path of a Python file, which ends in .py (docs/plant.md)")
    try:
        tree = ast.parse(read_regular(path), path)
    except FileNotFoundError:
        raise UsageError(explain_missing_file(path)) from None
    except OSError as error:
        raise UsageError(f"`{path}` cannot be read: {error.strerror}") from error
    except SyntaxError as error:
        raise UsageError(f"{path}:{error.lineno or 1}: not Python: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"{path}: not Python: {error}") from error
    defined = sorted({*_list_names(tree)} & {*PLANTS}, key=PLANTS.index)
    if len(defined) != 1:
        found = " and ".join(f"`{name}`" for name in defined) or "none of them"
        expected = ", ".join(f"`{name}`" for name in PLANTS)
        raise UsageError(f"{path}: it defines {found}; expected one of {expected} (docs/plant.md)")


def _list_names(node: ast.AST) -> Iterator[str]:
    """Yield the names that the statements of a module define, also those in an `if` or a `try`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield child.name
        elif isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id
        elif isinstance(child, ast.alias):
            yield (child.asname or child.name).partition(".")[0]
        else:
            yield from _list_names(child)
