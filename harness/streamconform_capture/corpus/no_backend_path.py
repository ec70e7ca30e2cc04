"""Reject an archive that contains its own build backend: pip would import that one instead of ours.

This module is copied as `sitecustomize.py` to a folder where pip's subprocesses look for modules, so each of
them runs it at startup. When a subprocess is to import a backend, pip sets an environment variable that tells
it where to look.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

REFUSED = "refused"
"""A file created next to this module to report that an archive was rejected, because pip hides our output."""

_VARIABLES = ("_PYPROJECT_HOOKS_BACKEND_PATH", "PEP517_BACKEND_PATH")
"""Prefixes of the variable names; newer versions of pip append `_JSON`."""

if any(os.environ[name] not in ("", "null", "[]") for name in os.environ if name.startswith(_VARIABLES)):
    Path(__file__).with_name(REFUSED).touch()
    sys.exit("its build backend is inside the archive")
