"""`peer:together`: Chat Completions through Together's SDK, with `chat.completions.create()`."""

from __future__ import annotations

import together

from streamconform_peers import stainless
from streamconform_peers.chat_completion import ChatFields

EXPOSED = ChatFields(reasoning=("reasoning", "reasoning_content"), usage_parts=False)
adapter = stainless.build_adapter(together, together.Together, together.AsyncTogether, EXPOSED)
