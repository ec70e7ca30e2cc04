"""A reason that names a failure is taken for the normal end."""

from __future__ import annotations

from typing import Any

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.google_generate import GoogleGenerateDecoder
from streamconform_reference.apis.google_generate.reasons import STOP_REASONS


class Broken(GoogleGenerateDecoder):
    """The decoder that knows no failures."""

    def read_finish(self, finish: Any, finish_message: Any) -> None:
        """Take `STOP` for each of them."""
        failed = isinstance(finish, str) and STOP_REASONS.get(finish) == "error"
        super().read_finish("STOP" if failed else finish, finish_message)


adapter = adapter_for({"google-generate": Broken}, name="mutant:failed-call-as-stop")
