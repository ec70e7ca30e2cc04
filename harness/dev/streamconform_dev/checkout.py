"""The folder of the checkout; the workshop is installed from it, and works only there."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[3]
