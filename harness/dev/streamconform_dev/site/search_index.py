"""The index of the search: sections of the documentation, clients, findings and cases."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from streamconform_dev.site.matrix_data import Matrix

MAX_TEXT: Final = 400
"""The number of characters of a section that are searched and quoted."""

IndexEntry = tuple[str, str, str, str]
"""Kind, path in the site, title, text."""


def write_index(out: Path, matrix: Matrix) -> None:
    """Write `search.js`, which the search page loads; a script, so that the site works from disk too."""
    folder = out / "docs" / "search"
    sections = json.loads((folder / "search_index.json").read_text("utf-8"))["docs"]
    shutil.rmtree(folder)
    entries: list[IndexEntry] = [
        ("docs", f"docs/{section['location']}", section["title"], section["text"][:MAX_TEXT])
        for section in sections
    ]
    entries += _list_matrix_entries(matrix)
    plain = [tuple(part.replace("`", "") for part in entry) for entry in entries]
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    (out / "search.js").write_text(f"window.conformIndex = {text};\n", "utf-8")


def _list_matrix_entries(matrix: Matrix) -> Iterator[IndexEntry]:
    for client in matrix.clients:
        path = f"matrix/clients/{client.name}.html"
        text = f"{client.peer.distribution} {client.peer.version}, {', '.join(client.by_api)}"
        yield ("client", path, client.name, text)
    for slug, finding in matrix.findings.items():
        libraries = ", ".join(library.name for library in finding.libraries)
        yield ("finding", f"findings/{slug}.html", finding.title, f"{libraries}. {finding.does}"[:MAX_TEXT])
    for case in matrix.cases.values():
        yield ("case", f"matrix/cases/{case.id}.html", case.title, case.id)
