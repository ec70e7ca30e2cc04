"""The outputs in docs/importing.md and docs/comparing.md are what their commands print."""

from __future__ import annotations

import pytest

from .document import DOCUMENTS, filled, without_times


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_every_output_in_the_document_is_what_its_command_prints(document):
    """`python -m tests.importers.document` regenerates them."""
    assert without_times(filled(document)) == without_times(document.read_text("utf-8"))
