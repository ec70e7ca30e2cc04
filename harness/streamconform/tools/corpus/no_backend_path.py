"""Reject an archive whose build backend is inside it, because pip would import it before ours.

This module is copied as `sitecustomize.py` to a folder where pip's subprocesses look for modules, so each of
them runs it at startup. pip tells the subprocess that imports a backend where to find it, in an environment
variable.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

REFUSED = "refused"
"""A file created next to this module when an archive is rejected, because pip hides our output."""

_VARIABLES = ("_PYPROJECT_HOOKS_BACKEND_PATH", "PEP517_BACKEND_PATH")
"""Prefixes of the variable names; newer versions of pip append `_JSON`."""

if any(os.environ[name] not in ("", "null", "[]") for name in os.environ if name.startswith(_VARIABLES)):
    Path(__file__).with_name(REFUSED).touch()
    sys.exit("its build backend lies inside the archive")
