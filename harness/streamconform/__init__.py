"""streamconform: a conformance suite for parsers of streamed LLM answers.

`load_cases`, `run_suite`, `judge_outcome` and `write_report` are the Python API; `streamconform.library`
documents them and their guarantees.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from streamconform._version import __version__

if TYPE_CHECKING:
    from streamconform.library import judge_outcome, load_cases, run_suite, write_report

__all__ = ["__version__", "judge_outcome", "load_cases", "run_suite", "write_report"]


def __getattr__(name: str) -> Any:
    # Imported on first use, because pytest and the hosts of peers import this package without using the API.
    if name in __all__:
        return getattr(import_module("streamconform.library"), name)
    raise AttributeError(f"module `streamconform` has no attribute `{name}`")
