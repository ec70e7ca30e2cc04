"""Refuse an archive whose build backend lies inside it: pip would import that one before ours.

It is copied as `sitecustomize.py` to where pip's subprocesses look for modules, so each of them runs it when
it starts. A variable of the environment tells the subprocess that imports a backend where to look for it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

REFUSED = "refused"
"""The file that is left next to this module when an archive is refused: pip does not show what we print."""

_VARIABLES = ("_PYPROJECT_HOOKS_BACKEND_PATH", "PEP517_BACKEND_PATH")
"""Their names begin so: newer versions of pip append `_JSON`."""

if any(os.environ[name] not in ("", "null", "[]") for name in os.environ if name.startswith(_VARIABLES)):
    Path(__file__).with_name(REFUSED).touch()
    sys.exit("its build backend lies inside the archive")
