"""Where Debian's packages have the source of Go modules."""

from __future__ import annotations

from pathlib import Path
from typing import Final

YAML: Final = Path("/usr/share/gocode/src/gopkg.in/yaml.v3")
"""In golang-gopkg-yaml.v3-dev."""
