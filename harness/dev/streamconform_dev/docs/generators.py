"""The table of generators: modules with `generate()`, which returns the files with their correct content."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final

Generate = Callable[[], Mapping[Path, bytes]]


@dataclass(frozen=True, slots=True)
class Generator:
    """A part of the documentation, or of the golden files, that is generated."""

    name: str
    module: str
    """The generator's module, imported when it runs, because some import optional dependencies."""
    writes: str
    slow: bool = False
    """Whether it takes minutes."""

    def write(self) -> Iterator[Path]:
        """Write the files whose content changes, and yield their paths."""
        generate: Generate = import_module(self.module).generate
        for path, content in generate().items():
            if not path.is_file() or path.read_bytes() != content:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
                yield path


_ALL: Final = (
    Generator("cli", "streamconform_dev.docs.outputs", "outputs in README.md and docs/cli.md"),
    Generator("guide", "streamconform_dev.docs.guide", "outputs in docs/guide.md"),
    Generator(
        "importing", "streamconform_dev.docs.importing", "outputs in docs/importing.md and docs/comparing.md"
    ),
    Generator("http", "streamconform_dev.docs.http", "output in docs/http.md"),
    Generator("smoke", "streamconform_dev.docs.smoke", "output in docs/adapters.md"),
    Generator("recorded", "streamconform_dev.docs.recorded", "table in docs/recorded.md"),
    Generator("peers", "streamconform_dev.docs.peers", "table in docs/peers.md, from the libraries"),
    Generator("matrix", "streamconform_dev.docs.matrix", "docs/matrix/README.md, from docs/matrix/results"),
    Generator(
        "findings",
        "streamconform_dev.docs.findings",
        "docs/matrix/findings.md, from the libraries",
    ),
    Generator("losses", "streamconform_dev.docs.losses", "tables in docs/internals/encoders.md"),
    Generator("reports", "streamconform_dev.docs.golden", "tests/reports/golden/"),
    Generator("broken", "streamconform_dev.broken.table", "docs/internals/broken-adapters.md"),
    Generator("selftest", "streamconform_dev.docs.selftest", "docs/internals/selftest.md", slow=True),
    Generator("innocents", "streamconform_dev.docs.innocents", "docs/internals/innocents.md", slow=True),
)
GENERATORS: Final[Mapping[str, Generator]] = {generator.name: generator for generator in _ALL}
