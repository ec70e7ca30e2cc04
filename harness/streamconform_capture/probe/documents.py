"""Check the fields of non-streaming answers and of error documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from streamconform.apis.api import DocumentField
from streamconform_reference.grammars.fields import ABSENT, fits, values_at


def check_fields(
    document: Mapping[str, Any], fields: tuple[DocumentField, ...]
) -> Iterator[tuple[DocumentField, str | None]]:
    """Yield every field with an error message, or with None if it is valid."""
    for field in fields:
        message = None
        for value in values_at(document, field.path):
            if value is ABSENT:
                message = f"`{field.path}` is absent, expected {field.kind}"
            elif not fits(field.kind, value):
                message = f"`{field.path}` is `{str(value)[:60]}`, expected {field.kind}"
        yield field, message
