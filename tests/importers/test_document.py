"""What docs/importing.md shows is what its commands print."""

from __future__ import annotations

from .document import DOCUMENT, filled, without_times


def test_every_output_in_the_document_is_what_its_command_prints():
    """`python -m tests.importers.document` writes them anew."""
    assert without_times(filled()) == without_times(DOCUMENT.read_text("utf-8"))
