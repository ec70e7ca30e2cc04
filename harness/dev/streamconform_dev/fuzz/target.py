"""What damaged inputs are given to."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamconform_dev.fuzz.damage import Ending


@dataclass(frozen=True, slots=True)
class Target:
    """Something that reads bytes from outside."""

    name: str
    make: Callable[[random.Random], Any]
    """Returns an input."""
    check: Callable[[Any, Path], Ending]
    """Gives an input to the code, with a folder for files. Raises for everything that must not happen."""
    share: int
    """The number of inputs of each round, in thousands: the faster, the more."""


def make_rng(seed: int) -> random.Random:
    """Return the random numbers of a seed."""
    return random.Random(seed)  # noqa: S311 - repeatable
