"""Build the site: the documentation with MkDocs, then the pages of the matrix, the index, and the assets."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path
from typing import Any, Final

from streamconform import __version__
from streamconform_dev.checkout import ROOT
from streamconform_dev.site.matrix_data import read_matrix
from streamconform_dev.site.pages import Renderer, render_pages
from streamconform_dev.site.prose import build_prose
from streamconform_dev.site.reference import write_schemas
from streamconform_dev.site.search_index import write_index

ASSETS: Final = Path(__file__).parent / "assets"


def build_site(out: Path) -> int:
    """Build the site in the folder `out`, which is replaced, and return the number of HTML pages."""
    if out.exists():
        shutil.rmtree(out)
    context = read_context()
    documents = build_prose(out / "docs", context["repository"], context)
    matrix = read_matrix()
    files = dict(render_pages(matrix, Renderer(context), documents)) | write_schemas()
    for path, text in files.items():
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        (out / path).write_text(text, "utf-8")
    shutil.copytree(ASSETS, out / "assets")
    write_index(out, matrix)
    for leftover in ("404.html", "sitemap.xml", "sitemap.xml.gz"):
        (out / "docs" / leftover).unlink(missing_ok=True)
    return sum(1 for _ in out.rglob("*.html"))


def read_context() -> dict[str, Any]:
    """Return the variables of every template."""
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
    return {"version": __version__, "repository": urls["Repository"], "site": urls["Homepage"]}
