"""An HTTP client that reads answers with the reference parser: it aborts, retries, and reads many at once.

It is the implementation that passes every case about behavior, and the base of the mutants and innocents of
these cases. It is not a product: it sends one kind of request, to a server on this machine.
"""

from __future__ import annotations

from .adapter import adapter, adapter_for
from .client import HttpClient

__all__ = ["HttpClient", "adapter", "adapter_for"]
