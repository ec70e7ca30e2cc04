"""Recorded answers for the tests of the judges in other languages."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from streamconform.apis import NAMES
from streamconform.model.case import Case
from streamconform_dev.artifact import write_suite
from streamconform_dev.judges.files import write_answers
from tests.bundled_suite import cases

STEP = 24
"""One of so many cases is in the sample, besides `RARE`."""


RARE: frozenset[str] = frozenset()


@cache
def record_sample() -> Path:
    """Return a folder with a part of the suite, and with answers that reach every branch of a judge.

    The files are named as `conform dev export-suite --answers` names them.
    """
    folder = Path(tempfile.mkdtemp(prefix="streamconform-answers-"))
    for api in NAMES:
        of_api = [case for case in cases() if isinstance(case, Case) and case.api == api]
        sample = [case for i, case in enumerate(of_api) if i % STEP == 0 or case.id in RARE]
        write_suite(api, sample, folder)
        write_answers(api, sample, folder, 2)
    return folder
