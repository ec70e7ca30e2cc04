"""The list of explained survivors, survivors.yaml: mutants that no test can or should kill."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamconform.yaml_text import reader, writer
from streamconform_dev.checkout import ROOT

LIST = Path(__file__).with_name("survivors.yaml")
KEYS = ("function", "original", "mutated", "reason")


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change in a function, without a line number: unrelated edits keep the entry valid."""

    function: str
    """Module and name, such as `streamconform.known_failures.match.find_outdated`."""
    original: str
    """The changed lines before the mutation, without indentation."""
    mutated: str


@dataclass(frozen=True, slots=True)
class Survivor:
    """A mutation that survives, and why that is fine."""

    mutation: Mutation
    reason: str


def load_survivors(path: Path = LIST) -> tuple[Survivor, ...]:
    """Return the entries of the list. Raises `ValueError` for a malformed one."""
    entries = reader.read(path).value or []
    return tuple(_read_entry(entry) for entry in entries)


def make_mutation(function: str, before: str, after: str) -> Mutation:
    """Return the mutation that turns the source `before` of a function into `after`."""
    old, new = before.splitlines(), after.splitlines()
    removed, added = list[str](), list[str]()
    for tag, start, end, new_start, new_end in difflib.SequenceMatcher(None, old, new).get_opcodes():
        if tag != "equal":
            removed += (line.strip() for line in old[start:end])
            added += (line.strip() for line in new[new_start:new_end])
    return Mutation(function, "\n".join(removed), "\n".join(added))


def is_exempt(before: str, after: str) -> bool:
    """Return whether two functions differ only in the wording of messages, or in `strict=` of `zip`.

    Messages are texts with a space; tests check that a message names the mistake, but not each of its words.
    `strict=True` is an assertion about the lengths, which no input can violate.
    """
    return _drop_exempt(before) == _drop_exempt(after)


def find_malformed(survivors: Iterable[Survivor]) -> Iterator[str]:
    """Yield a message for each entry whose function or source text no longer exists."""
    seen: set[Mutation] = set()
    for survivor in survivors:
        mutation = survivor.mutation
        if mutation in seen:
            yield f"{mutation.function}: listed twice: {mutation.mutated}"
        seen.add(mutation)
        source = _read_function(mutation.function)
        if source is None:
            yield f"{mutation.function}: no such function; remove the entry"
            continue
        lines = {line.strip() for line in source.splitlines()}
        missing = [line for line in mutation.original.splitlines() if line not in lines]
        if missing:
            yield f"{mutation.function}: the source has no line `{missing[0]}`; remove or update the entry"


def format_entry(mutation: Mutation) -> str:
    """Return the entry to add to the list, without a reason."""
    entry = {"function": mutation.function, "original": mutation.original, "mutated": mutation.mutated}
    return writer.dump([entry | {"reason": ""}], mutation.function)


def _read_entry(entry: Any) -> Survivor:
    if not isinstance(entry, dict) or tuple(entry) != KEYS:
        raise ValueError(f"expected the keys {', '.join(KEYS)} in this order: {entry}")
    if not all(isinstance(value, str) for value in entry.values()):
        raise ValueError(f"expected text for each key: {entry}")
    if len(entry["reason"].split()) < 4:
        raise ValueError(f"{entry['function']}: explain why `{entry['mutated']}` survives")
    return Survivor(Mutation(entry["function"], entry["original"], entry["mutated"]), entry["reason"])


def _read_function(name: str) -> str | None:
    """Return the source of `package.module.function` or `package.module.Class.method`."""
    *steps, last = name.split(".")
    names = [last]
    path = ROOT / "harness" / Path(*steps)
    while not path.with_suffix(".py").is_file():
        if not steps:
            return None
        names.insert(0, steps.pop())
        path = ROOT / "harness" / Path(*steps)
    source = path.with_suffix(".py").read_text("utf-8")
    body: list[Any] = ast.parse(source).body
    node: Any = None
    for part in names:
        node = next((child for child in body if getattr(child, "name", None) == part), None)
        if node is None:
            return None
        body = node.body
    # Whole lines: a mutation includes the comment at the end of its line.
    return "\n".join(source.splitlines()[node.lineno - 1 : node.end_lineno])


class _ExemptDropper(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str) and " " in node.value:
            return ast.copy_location(ast.Constant("text"), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id == "zip":
            node.keywords = [keyword for keyword in node.keywords if keyword.arg != "strict"]
        return self.generic_visit(node)


def _drop_exempt(source: str) -> str:
    return ast.dump(_ExemptDropper().visit(ast.parse(source.strip())))
