"""`[DONE]` ends the answer as complete, though no `finish_reason` came."""

from __future__ import annotations

from streamconform_reference.adapter import adapter_for
from streamconform_reference.apis.openai_chat import OpenaiChatDecoder
from streamconform_reference.decoding.decoder import DONE_MARK
from streamconform_reference.framing import Frame


class Broken(OpenaiChatDecoder):
    """The decoder that waits for `[DONE]` and for nothing else."""

    def receive_frame(self, frame: Frame) -> None:
        """Complete the answer at the mark as if it had stopped by itself."""
        if frame.data.strip() == DONE_MARK and self.finish is None:
            self.read_finish("stop")
        super().receive_frame(frame)


adapter = adapter_for({"openai-chat": Broken}, name="mutant:done-mark-as-success")
