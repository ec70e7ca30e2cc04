"""The version, in a module of its own, because every module may import it and the package's root may not."""

from typing import Final

__version__: Final = "0.1.0"
