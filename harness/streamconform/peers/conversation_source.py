"""Print the messages that an adapter builds from a conversation, as Python source: `NAME < conversation`.

The adapter's own code builds them, so that a finding shows the library's types as the adapter uses them. The
library need not be installed: its classes are replaced by stand-ins whose `repr` is their source.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Mapping
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final


class Source:
    """The Python expression that creates one of a library's objects."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        """Store the arguments."""
        vars(self).update(arguments=list(arguments), keywords=keywords)

    def __getattr__(self, name: str) -> Any:
        """Return the argument `name`; of the positional arguments, only the first has a known name."""
        return self.keywords[name] if name in self.keywords else self.arguments[0]

    def __setattr__(self, name: str, value: Any) -> None:
        """Add the attribute to the arguments, because the classes are dataclasses and models."""
        self.keywords[name] = value

    def __repr__(self) -> str:
        """Return the expression."""
        parts = [*map(repr, self.arguments), *(f"{name}={value!r}" for name, value in self.keywords.items())]
        prefix = "messages." if type(self).__module__ == "pydantic_ai.messages" else ""
        return f"{prefix}{type(self).__name__}({', '.join(parts)})"


class StandIn(ModuleType):
    """A stand-in for a library's module; every name in it is a subclass of `Source`."""

    __path__: list[str]

    def __getattr__(self, name: str) -> Any:
        """Return a module for a lower-case name, or a class; Python's own names raise `AttributeError`."""
        if name.startswith("__"):
            raise AttributeError(name)
        if name.islower():
            return importlib.import_module(f"{self.__name__}.{name}")
        made = type(name, (Source,), {"__module__": self.__name__})
        setattr(self, name, made)
        return made


class StandInFinder(MetaPathFinder, Loader):
    """Finds a stand-in for every module of some libraries."""

    def __init__(self, libraries: tuple[str, ...]) -> None:
        """Store the names of the libraries."""
        self._libraries = libraries

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return the spec of a stand-in for a module of one of the libraries."""
        del path, target
        is_ours = fullname.partition(".")[0] in self._libraries
        return ModuleSpec(fullname, self, is_package=True) if is_ours else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the stand-in."""
        return StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: names are created on first use."""


def _describe_litellm(conversation: Mapping[str, Any], api: str) -> dict[str, Any]:
    settings = importlib.import_module("streamconform.peers.litellm.settings")
    arguments = settings.build_arguments(conversation, api)
    return {"ARGUMENTS": arguments, "PREFIX": settings.get_prefix(conversation, "openai")}


def _describe_langchain(conversation: Mapping[str, Any], api: str) -> dict[str, Any]:
    messages = importlib.import_module("streamconform.peers.langchain.messages")
    settings = importlib.import_module("streamconform.peers.langchain.settings")
    cache_control = settings.get_cache_control(conversation, api)
    return {
        "MESSAGES": messages.build_messages(conversation, api, cache_control),
        "SETTINGS": _format_keywords(settings.build_settings(conversation, api)),
        "CONVERSATION_TOOLS": messages.convert_tools(api, conversation.get("tools", ())),
        "CHOICE": _format_keywords(settings.build_tool_choice(conversation, api)),
    }


def _format_keywords(keywords: Mapping[str, Any]) -> str:
    """Return keyword arguments as source that can follow other arguments; empty ones are omitted."""
    return "".join(f", {name}={value!r}" for name, value in keywords.items() if value not in ({}, None))


def _describe_pydantic_ai(conversation: Mapping[str, Any], api: str) -> dict[str, Any]:
    messages = importlib.import_module("streamconform.peers.pydantic_ai.messages")
    settings = importlib.import_module("streamconform.peers.pydantic_ai.settings")
    return {
        "MESSAGES": messages.build_messages(conversation, api),
        "SETTINGS": settings.build_settings(conversation, api),
        "CONVERSATION_TOOLS": messages.build_tools(conversation),
    }


DESCRIBE: Final[Mapping[str, Callable[[Mapping[str, Any], str], dict[str, Any]]]] = {
    "litellm": _describe_litellm,
    "langchain": _describe_langchain,
    "pydantic-ai": _describe_pydantic_ai,
}
"""The values of the placeholders in the `request` of a peer's snippet, by peer."""
LIBRARIES: Final = ("langchain_core", "pydantic_ai")


def main(name: str) -> None:
    """Read `{conversation, api}` from stdin, and print the source of each value."""
    sys.meta_path.insert(0, StandInFinder(LIBRARIES))
    document = json.load(sys.stdin)
    values = DESCRIBE[name](document["conversation"], document["api"])
    json.dump({key: format_source(value) for key, value in values.items() if value != []}, sys.stdout)


def format_source(value: Any) -> str:
    """Return the expression for a value, one item per line if it does not fit on one line."""
    if isinstance(value, str):
        return value
    text = repr(value)
    if len(text) > 90 and isinstance(value, list):
        return "[\n" + "".join(f"    {item!r},\n" for item in value) + "]"
    if len(text) > 90 and isinstance(value, dict):
        return "{\n" + "".join(f"    {key!r}: {item!r},\n" for key, item in value.items()) + "}"
    return text


if __name__ == "__main__":
    main(sys.argv[1])
