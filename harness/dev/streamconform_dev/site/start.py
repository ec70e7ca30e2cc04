"""The files that `conform init` writes for each language, for the page about getting started."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from streamconform.apis import TEMPLATE_API
from streamconform.init.kits import KITS, Language
from streamconform.init.plan import NewFile, find_target, plan_files
from streamconform.install import INSTALL

PROFILE: Final = "core"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How to start in one language."""

    language: str
    title: str
    adapter: str
    """Path of the adapter that `conform init` writes."""
    code: str
    """The adapter as HTML."""
    files: tuple[str, ...]
    commands: tuple[str, ...]


_PROJECTS: Final[Sequence[tuple[Language, str, Mapping[str, str]]]] = (
    ("python", "python", {"pyproject.toml": '[project]\nname = "mypkg"\n', "mypkg/__init__.py": ""}),
    ("node", "javascript", {"package.json": '{"name": "mypkg"}'}),
    ("rust", "rust", {"Cargo.toml": '[package]\nname = "mypkg"\n'}),
    ("go", "go", {}),
    ("java", "java", {}),
    ("ruby", "ruby", {}),
    ("php", "php", {}),
    ("c", "c", {}),
    ("perl", "perl", {}),
)
"""Language, the name of its lexer, and the files of an empty project named `mypkg`."""


def list_starts() -> list[Start]:
    """Return the languages, each with what `conform init` writes into an empty project."""
    return [_plan(*project) for project in _PROJECTS]


def highlight_code(code: str, lexer: str) -> str:
    """Return `code` as HTML, with the classes that the style sheet colors."""
    formatter = HtmlFormatter(cssclass="highlight", wrapcode=True)
    text: str = highlight(code, get_lexer_by_name(lexer), formatter)
    return text.replace("<pre>", '<pre tabindex="0">')


def _plan(language: Language, lexer: str, files: Mapping[str, str]) -> Start:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "mypkg"
        folder.mkdir()
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, "utf-8")
        target = find_target(folder, language, None)
        planned = list(plan_files(folder, target, (TEMPLATE_API,), "bytes", PROFILE))
    written = {file.path: file.text for file in planned if isinstance(file, NewFile)}
    return Start(
        language=language,
        title=KITS[language].title,
        adapter=target.adapter,
        code=highlight_code(written[target.adapter], lexer),
        files=tuple(written),
        commands=(
            INSTALL,
            f"conform init --language {language}",
            f"conform smoke {target.arguments}",
            f"conform run --profile {PROFILE}",
        ),
    )
