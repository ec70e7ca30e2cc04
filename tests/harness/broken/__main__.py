"""Writes docs/internals/broken-adapters.md from what really happens: `python -m tests.harness.broken`."""

from __future__ import annotations

from .table import DOCUMENT, TABLE, happens, page, row

if __name__ == "__main__":
    DOCUMENT.write_text(page({broken.id: row(broken, happens(broken)) for broken in TABLE}), "utf-8")
