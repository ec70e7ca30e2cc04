"""The outputs in docs/importing.md and docs/comparing.md match those of the commands."""

from __future__ import annotations

import pytest

from streamconform_dev.docs.blocks import describe_outdated, hide_numbers
from streamconform_dev.docs.importing import PAGES, fill_page

from ..cli.project import run_forked


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_every_output_in_the_document_is_what_its_command_prints(page):
    current = page.read_text("utf-8")
    assert hide_numbers(fill_page(page, run_forked)) == hide_numbers(current), describe_outdated("importing")
