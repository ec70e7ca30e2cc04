"""Answers without streaming, and error documents: what is wrong with their fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from streamconform_reference.grammars.fields import ABSENT, fits, values_at

from streamconform.apis.api import DocumentField


def faults(
    document: Mapping[str, Any], fields: tuple[DocumentField, ...]
) -> Iterator[tuple[DocumentField, str | None]]:
    """Yield every field, and what is wrong with it or None."""
    for field in fields:
        words = None
        for value in values_at(document, field.path):
            if value is ABSENT:
                words = f"`{field.path}` is absent, expected {field.kind}"
            elif not fits(field.kind, value):
                words = f"`{field.path}` is `{str(value)[:60]}`, expected {field.kind}"
        yield field, words
