"""Generate the tables of docs/internals/encoders.md: run `python -m tests.reference.losses`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from streamconform_reference.apis import LOSSES
from streamconform_reference.encoding.encoder import FORMS, Loss

PAGE: Final = Path(__file__).parents[2] / "docs" / "internals" / "encoders.md"
BEGIN, END = "<!-- losses -->\n", "<!-- end of losses -->\n"


def tables() -> str:
    """Return a table for each api that is encoded."""
    return "\n".join(table(api) for api in LOSSES)


def table(api: str) -> str:
    """Return the table of an api."""
    rows = "".join(row(loss) for loss in LOSSES[api])
    return f"### {api}\n\n| row | cannot be said | what is written |\n|---|---|---|\n{rows}"


def row(loss: Loss) -> str:
    """Return the row of a loss, which says the form that it is for unless that is both."""
    where = "" if loss.forms == FORMS else f" ({', '.join(loss.forms)} only)"
    return f"| `{loss.name}`{where} | {loss.description} | {loss.becomes} |\n"


def renewed(page: str) -> str:
    """Return the page with the tables of today."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{tables()}\n{END}{tail}"


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text("utf-8")), "utf-8")
