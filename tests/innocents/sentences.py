"""Read the sentences of the documents that grant freedoms to implementations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ("docs/outcome.md", "docs/adapters.md", "specs/POLICY.md")

_FREEDOM = re.compile(
    r"\b(may|either|optional(ly)?|both|warnings?|all( \w+)? pass(es)?|pass(es)? too)\b", re.IGNORECASE
)
_END = re.compile(r"(?<=[.?!])\**\s+(?=[A-Z`\"*(0-9])")


@dataclass(frozen=True)
class Entry:
    """One decision of the policy."""

    title: str
    parts: dict[str, str]
    """The text of `Seen`, `Decided`, `Because`, `Level` and `Cases`."""

    @property
    def cases(self) -> tuple[str, ...]:
        return tuple(re.findall(r"`([^`]+)`", self.parts["Cases"]))


def normalize(text: str) -> str:
    return " ".join(text.split())


@cache
def read(file: str) -> str:
    """Return a document with each paragraph on one line, so that sentences can be searched."""
    return normalize((ROOT / file).read_text("utf-8"))


def iter_sentences(file: str) -> Iterator[str]:
    """Yield the sentences outside of code blocks; a row of a table is one sentence."""
    text = re.sub(r"```.*?```|<!--.*?-->", "\n\n", (ROOT / file).read_text("utf-8"), flags=re.DOTALL)
    for paragraph in re.split(r"\n\s*\n|\n(?=- |\d+\. |\||#)", text):
        if paragraph.startswith("#"):
            continue
        if paragraph.startswith("|"):
            yield normalize(paragraph)
        else:
            yield from split_sentences(paragraph)


def split_sentences(paragraph: str) -> list[str]:
    return _END.split(normalize(paragraph))


@cache
def policy() -> tuple[Entry, ...]:
    entries = []
    for section in re.split(r"^### ", (ROOT / "specs/POLICY.md").read_text("utf-8"), flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        parts = re.findall(
            r"^- (Seen|Decided|Because|Level|Cases): (.*?)(?=^- |^#|\Z)", body, re.MULTILINE | re.DOTALL
        )
        entries.append(Entry(title, {name: normalize(text) for name, text in parts}))
    return tuple(entries)


def is_permissive(sentence: str) -> bool:
    """Return whether a sentence has a word that can grant a freedom."""
    return _FREEDOM.search(sentence) is not None
