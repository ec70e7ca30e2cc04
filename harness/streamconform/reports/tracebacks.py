"""Shorten an adapter's traceback, or a program's stderr, to the frames that its author can change. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field

from streamconform.causes.roots import STANDARD_LIBRARY
from streamconform.printable import escape_line

MAX_OWN_FRAMES: Final = 2
"""The number of the author's innermost frames to keep."""
MAX_ERROR_LINES: Final = 4
"""The number of lines of the last exception's text to keep."""
MAX_OTHER_LINES: Final = 5
"""The number of last lines to keep of a text that is no Python traceback."""
WIDTH: Final = 200
_FRAME: Final = re.compile(r' *File "(?P<file>[^"]+)", line (?P<line>[0-9]+)(?:, in (?P<function>.+))?')
_HEADER: Final = re.compile(r"(?:Exception Group )?Traceback \(most recent call last\):")
_MARKERS: Final = re.compile(r"[ ~^]*\^[ ~^]*|[ ~]*~[ ~]*")
"""Matches the line that underlines a part of the line above, which may be shortened or wrapped."""
_GROUP_BORDER: Final = re.compile(r" *(?:\+-\+-+|\+-+|[|+])(?: [0-9]+ -+)?(?: |$)")
"""Matches what precedes each line of an exception group."""
_HOST: Final = re.compile(r"[/\\]streamconform[/\\]adapters[/\\]")
_INSTALLED: Final = re.compile(r"[/\\](?:site|dist)-packages[/\\]")


class _Frame(Struct, frozen=True):
    """The lines of one frame, without markers, and the file that they name."""

    file: str
    lines: list[str]

    @property
    def is_own(self) -> bool:
        """Return whether the frame belongs neither to the standard library nor to an installed package."""
        return not (STANDARD_LIBRARY.search(self.file) or _INSTALLED.search(self.file))


class _Block(Struct):
    """One exception of a chain: its frames, without those of the host, and its own text."""

    frames: list[_Frame] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    has_frames: bool = False
    """Whether it had frames before those of the host were dropped."""


def read_traceback(observation: Mapping[str, Any] | None) -> list[str]:
    """Return the shortened traceback, or stderr if the program ended, of a trial; empty if there is none."""
    match observation:
        case {"traceback": str(text)}:
            lines = shorten_traceback(text)
        case {"stderr": list(stderr)}:
            lines = shorten_traceback("\n".join(map(str, stderr)))
        case _:
            return []
    return [escape_line(line, WIDTH) for line in lines]


def shorten_traceback(text: str) -> list[str]:
    """Return the lines of a traceback that its author needs, or the last lines of any other text.

    These are the two innermost frames outside the standard library and installed packages, the innermost
    frame of all, and the exception. The other exceptions of a chain keep one frame each.
    """
    blocks = [block for block in _parse_blocks(text) if block.has_frames]
    if not blocks:
        return text.strip().splitlines()[-MAX_OTHER_LINES:]
    *earlier, last = blocks
    lines: list[str] = []
    for block in earlier:
        # The last line says how the next exception is related to this one.
        lines += [*_list_lines(_find_own(block)[-1:]), *block.text[:1], *block.text[1:][-1:]]
    own = _find_own(last)[-MAX_OWN_FRAMES:]
    innermost = [frame for frame in last.frames[-1:] if frame not in own]
    return [*lines, *_list_lines([*own, *innermost]), *last.text[:MAX_ERROR_LINES]]


def _find_own(block: _Block) -> list[_Frame]:
    """Return the author's frames, or all frames if none is the author's."""
    return [frame for frame in block.frames if frame.is_own] or block.frames


def _list_lines(frames: Sequence[_Frame]) -> list[str]:
    return [line for frame in frames for line in frame.lines]


def _parse_blocks(text: str) -> Iterator[_Block]:
    """Yield one block per exception, the outermost last."""
    is_group = "Exception Group Traceback" in text
    block = _Block()
    frame: _Frame | None = None
    for whole in text.splitlines():
        line = _GROUP_BORDER.sub("", whole, count=1) if is_group else whole
        if _HEADER.fullmatch(line.strip()):
            yield block
            block, frame = _Block(), None
        elif match := _FRAME.fullmatch(line):
            frame = _Frame(match["file"], [line])
            block.has_frames = True
            if not _HOST.search(frame.file):
                block.frames.append(frame)
        elif frame is not None and line.startswith("  ") and not block.text:
            if not _MARKERS.fullmatch(line):
                frame.lines.append(line)
        # Text before the first frame is what is left of a traceback that was cut off.
        elif line.strip() and block.has_frames:
            block.text.append(line)
    yield block
