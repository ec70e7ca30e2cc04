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
    Generator("cli", "tests.docs.outputs", "outputs in README.md and docs/cli.md"),
    Generator("guide", "tests.docs.guide", "outputs in docs/guide.md"),
    Generator("importing", "tests.docs.importing", "outputs in docs/importing.md and docs/comparing.md"),
    Generator("http", "tests.docs.http", "output in docs/http.md"),
    Generator("smoke", "tests.docs.smoke", "output in docs/adapters.md"),
    Generator("recorded", "tests.docs.recorded", "table in docs/recorded.md"),
    Generator("peers", "tests.docs.peers", "table in docs/peers.md, from the folders of the peers"),
    Generator("matrix", "tests.docs.matrix", "docs/matrix/README.md, from docs/matrix/results"),
    Generator("findings", "tests.docs.findings", "docs/matrix/findings.md, from the folders of the peers"),
    Generator("losses", "tests.docs.losses", "tables in docs/internals/encoders.md"),
    Generator("reports", "tests.reports.golden", "tests/reports/golden/"),
    Generator("broken", "tests.harness.broken.table", "docs/internals/broken-adapters.md"),
    Generator("selftest", "tests.docs.selftest", "docs/internals/selftest.md", slow=True),
    Generator("innocents", "tests.docs.innocents", "docs/internals/innocents.md", slow=True),
)
GENERATORS: Final[Mapping[str, Generator]] = {generator.name: generator for generator in _ALL}
