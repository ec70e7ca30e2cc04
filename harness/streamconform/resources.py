"""Find the bundled specs and cassettes in the wheel, or in the checkout of an editable install."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from streamconform.errors import UsageError

_PACKAGE: Final = Path(__file__).resolve().parent
Kind = Literal["specs", "cassettes"]


def find_bundled(kind: Kind) -> Path:
    """Return the folder with the bundled files of one kind. Raises `UsageError` if that folder is missing."""
    # The checkout comes first: an editable install copies the files only once, so its copy becomes outdated.
    checkout = _PACKAGE.parents[1] / kind
    if (_PACKAGE.parents[1] / "pyproject.toml").is_file() and checkout.is_dir():
        return checkout
    packaged = _PACKAGE / "_bundled" / kind
    if packaged.is_dir():
        return packaged
    raise UsageError(f"the bundled `{kind}` are missing from this installation; reinstall streamconform")
