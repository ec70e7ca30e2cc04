"""Reject an archive whose build backend is inside it, because pip would import it before ours.

This module is copied as `sitecustomize.py` to a folder where pip's subprocesses look for modules, so each of
them runs it at startup. An environment variable tells the subprocess that imports a backend where the backend
is.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

REFUSED = "refused"
"""The file, next to this module, that records a rejected archive, because pip hides our output."""

_VARIABLES = ("_PYPROJECT_HOOKS_BACKEND_PATH", "PEP517_BACKEND_PATH")
"""Prefix of the variables' names; newer versions of pip append `_JSON`."""

if any(os.environ[name] not in ("", "null", "[]") for name in os.environ if name.startswith(_VARIABLES)):
    Path(__file__).with_name(REFUSED).touch()
    sys.exit("its build backend lies inside the archive")
