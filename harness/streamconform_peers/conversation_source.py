"""Print the messages that an adapter builds from a conversation, as Python source: `LIBRARY < conversation`.

The adapter's own code builds them, so that a finding shows the library's types as the adapter uses them. The
library need not be installed: its classes are replaced by stand-ins whose `repr` is their source.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Mapping
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final


class Source:
    """The Python expression that creates one of a library's objects."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        """Store the arguments."""
        # Through `vars`, because `__setattr__` stores every attribute as a keyword argument.
        vars(self).update(arguments=list(arguments), keywords=keywords)

    def __getattr__(self, name: str) -> Any:
        """Return the argument `name`; if it is not a keyword argument, it is the first positional one."""
        return self.keywords[name] if name in self.keywords else self.arguments[0]

    def __setattr__(self, name: str, value: Any) -> None:
        """Store the attribute as a keyword argument: the real classes are dataclasses and models."""
        self.keywords[name] = value

    def __repr__(self) -> str:
        """Return the expression."""
        return format_source(self, UNLIMITED)

    def get_parts(self) -> tuple[str, list[tuple[str, Any]]]:
        """Return the class name, and each argument with its prefix; empty keyword arguments are left out."""
        module = "messages." if type(self).__module__ == "pydantic_ai.messages" else ""
        keywords = {name: value for name, value in self.keywords.items() if value not in (None, [], {})}
        arguments = [("", value) for value in self.arguments]
        arguments += [(f"{name}=", value) for name, value in keywords.items()]
        return f"{module}{type(self).__name__}", arguments


class StandIn(ModuleType):
    """A stand-in for a library's module; every name in it is a subclass of `Source`."""

    __path__: list[str]

    def __getattr__(self, name: str) -> Any:
        """Return a module for a lowercase name, else a class; Python's own names raise `AttributeError`."""
        if name.startswith("__"):
            raise AttributeError(name)
        if name.islower():
            return importlib.import_module(f"{self.__name__}.{name}")
        made = type(name, (Source,), {"__module__": self.__name__})
        setattr(self, name, made)
        return made


class StandInFinder(MetaPathFinder, Loader):
    """Finds a stand-in for every module but Python's own and ours."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return the spec of a stand-in if the module belongs to a library."""
        del path, target
        root = fullname.partition(".")[0]
        # `copy` of the standard library asks for Jython's `org`.
        is_ours = root.startswith("streamconform") or root in (*sys.stdlib_module_names, "org")
        return None if is_ours else ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the stand-in."""
        return StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: names are created on first use."""


WIDTH: Final = 96
"""The maximum width of a source line; longer values are split over several lines."""
UNLIMITED: Final = sys.maxsize


def main(library: str) -> None:
    """Read `{conversation, api}` from stdin, and print the source of each value.

    `source.py` in the library's folder describes the values of the placeholders in its snippet's `request`.
    """
    sys.meta_path.insert(0, StandInFinder())
    describe = importlib.import_module(f"streamconform_peers.{library}.source").describe
    document = json.load(sys.stdin)
    values = describe(document["conversation"], document["api"])
    sources = {
        key: value if isinstance(value, str) else format_source(value)
        for key, value in values.items()
        if value != []
    }
    json.dump(sources, sys.stdout)


def format_source(value: Any, width: int = WIDTH, indent: str = "", prefix: str = "") -> str:
    """Return `prefix` and the expression for a value, with one item per line if it is wider than `width`."""
    match value:
        case list():
            opening, closing, items = "[", "]", [("", item) for item in value]
        case dict():
            opening, closing, items = "{", "}", [(f"{key!r}: ", item) for key, item in value.items()]
        case Source():
            name, items = value.get_parts()
            opening, closing = f"{name}(", ")"
        case _:
            return f"{prefix}{value!r}"
    if width != UNLIMITED:
        line = format_source(value, UNLIMITED, indent, prefix)
        if not items or len(indent) + len(line) <= width:
            return line
        inner = f"{indent}    "
        lines = [f"{inner}{format_source(item, width, inner, name)},\n" for name, item in items]
        return f"{prefix}{opening}\n{''.join(lines)}{indent}{closing}"
    parts = ", ".join(format_source(item, UNLIMITED, "", name) for name, item in items)
    return f"{prefix}{opening}{parts}{closing}"


def format_keywords(keywords: Mapping[str, Any]) -> str:
    """Return keyword arguments as source that can follow other arguments; empty ones are omitted."""
    filled = {name: value for name, value in keywords.items() if value not in ({}, None)}
    return "".join(f", {name}={format_source(value)}" for name, value in filled.items())


if __name__ == "__main__":
    # Under its own name, by which the libraries' modules import it.
    importlib.import_module("streamconform_peers.conversation_source").main(sys.argv[1])
