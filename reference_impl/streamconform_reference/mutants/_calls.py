"""What mutants of functions share: an adapter that reads no stream and has one wrong function."""

from __future__ import annotations

from collections.abc import Iterator

from streamconform_reference.adapter import Adapter, Function, Run, describe_adapter
from streamconform_reference.outcome import Json


def calling(name: str, **functions: Function) -> Adapter:
    """Return an adapter with these functions, for which no api is claimed."""

    def nothing(run: Run) -> Iterator[Json]:
        raise KeyError(run.api)

    return describe_adapter(nothing, functions, name=f"mutant:{name}", apis=())
