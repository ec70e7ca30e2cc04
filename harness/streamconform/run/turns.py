"""Take turns between serving trials and judging answers, which happen in the same event loop.

Judging can take seconds: the first failed check imports the reference. If a request waited for that, a client
with a short timeout would fail, and its library would be blamed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator


class Turns:
    """Counts the trials that are being served, and lets judges wait until there are none.

    Judging is synchronous, so no trial can begin before it ends.
    """

    def __init__(self) -> None:
        """Start with no trial and no judge."""
        self.serving = 0
        """The number of trials that are being served."""
        self._judges = 0
        self._nothing_served = asyncio.Event()
        self._no_judge = asyncio.Event()

    @contextlib.asynccontextmanager
    async def serve(self) -> AsyncIterator[None]:
        """Serve a trial in the block; judges that are already waiting come first."""
        while self._judges:
            await self._no_judge.wait()
        self.serving += 1
        self._nothing_served.clear()
        try:
            yield
        finally:
            self.serving -= 1
            if not self.serving:
                self._nothing_served.set()

    async def wait_to_judge(self) -> None:
        """Return when no trial is being served; the caller judges before it awaits anything else."""
        self._judges += 1
        self._no_judge.clear()
        try:
            while self.serving:
                await self._nothing_served.wait()
        finally:
            self._judges -= 1
            if not self._judges:
                self._no_judge.set()
