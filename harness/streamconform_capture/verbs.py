"""The commands of this package."""

from __future__ import annotations

from typing import Final

from streamconform.cli.verbs import Verb

VERBS: Final = (
    Verb(
        "record",
        "Capture",
        "Record a live server's answers as cassettes and draft specs.",
        "streamconform_capture.cli.record",
    ),
    Verb(
        "import",
        "Capture",
        "Turn captured streams into cassettes and draft specs.",
        "streamconform_capture.cli.import_",
    ),
    Verb(
        "probe",
        "Examine",
        "Judge the streams that a live server sends.",
        "streamconform_capture.cli.probe",
    ),
    Verb(
        "compare",
        "Examine",
        "Run implementations over recordings and show where they differ.",
        "streamconform_capture.cli.compare",
    ),
    Verb("fuzz", "Examine", "Judge implementations on generated answers.", "streamconform_capture.cli.fuzz"),
    Verb(
        "minimise",
        "Examine",
        "Find the smallest stream that still fails the same check.",
        "streamconform_capture.cli.minimise",
    ),
    Verb("lint", "Examine", "Check specs and cassettes.", "streamconform_capture.cli.lint"),
)
