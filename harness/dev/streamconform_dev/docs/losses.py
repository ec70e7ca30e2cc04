"""Generate the tables of docs/internals/encoders.md: what each API cannot express."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from streamconform_dev.checkout import ROOT
from streamconform_reference.apis import LOSSES
from streamconform_reference.encoding.encoder import FORMS, Loss

PAGE: Final = ROOT / "docs" / "internals" / "encoders.md"
BEGIN, END = "<!-- losses -->\n", "<!-- end of losses -->\n"


def generate() -> dict[Path, bytes]:
    """Return the page with current tables."""
    head, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, tail = rest.partition(END)
    tables = "\n".join(_format_table(api) for api in LOSSES)
    return {PAGE: f"{head}{BEGIN}\n{tables}\n{END}{tail}".encode()}


def _format_table(api: str) -> str:
    rows = "".join(_format_row(loss) for loss in LOSSES[api])
    return f"### {api}\n\n| row | cannot be expressed | written instead |\n|---|---|---|\n{rows}"


def _format_row(loss: Loss) -> str:
    """Return the row for a loss, with the form of answer that it applies to, unless it applies to both."""
    forms = "" if loss.forms == FORMS else f" ({', '.join(loss.forms)} only)"
    return f"| `{loss.name}`{forms} | {loss.description} | {loss.becomes} |\n"
