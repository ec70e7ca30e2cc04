"""Lines are split as text is, at U+2028, U+2029 and U+0085 too."""

from __future__ import annotations

from codecs import getincrementaldecoder

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.anthropic_messages.decode import AnthropicMessagesDecoder
from streamconform_reference.framing import Frame
from streamconform_reference.framing.sse import SseFraming

LINE_ENDS = str.maketrans("\u2028\u2029\x85", "\n\n\n")


class SplittingText(SseFraming):
    """The framing that decodes first and splits then."""

    def __init__(self) -> None:
        """Begin at the first byte of a body."""
        super().__init__()
        self._decoder = getincrementaldecoder("utf-8")(errors="replace")

    def receive(self, data: bytes) -> list[Frame]:
        """Read the text with all of Unicode's line ends as LF."""
        return super().receive(self._decoder.decode(data).translate(LINE_ENDS).encode())


class Broken(AnthropicMessagesDecoder):
    """The decoder with that framing."""

    framing_factory = SplittingText


adapter = adapter_for({"anthropic-messages": Broken}, name="mutant:unicode-line-ends")
