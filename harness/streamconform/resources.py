"""Where the bundled specs and cassettes are: in the wheel, or in the checkout of an editable install."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from streamconform.errors import UsageError

HERE = Path(__file__).resolve().parent


def bundled(kind: Literal["specs", "cassettes"]) -> Path:
    """Return the folder of the bundled `specs` or `cassettes`.

    The checkout comes first: an editable install copies the files once and would go stale.
    """
    checkout = HERE.parents[1] / kind
    if (HERE.parents[1] / "pyproject.toml").is_file() and checkout.is_dir():
        return checkout
    packaged = HERE / "_bundled" / kind
    if packaged.is_dir():
        return packaged
    raise UsageError(f"the bundled `{kind}` are missing from this installation; reinstall streamconform")
