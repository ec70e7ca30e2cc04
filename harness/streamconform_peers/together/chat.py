"""`peer:together`: Chat Completions through Together's SDK, with `chat.completions.create()`."""

from __future__ import annotations

import together

from streamconform.normal.chat import ChatFields
from streamconform_peers import stainless

EXPOSED = ChatFields(reasoning=("reasoning", "reasoning_content"), usage_parts=False)
adapter = stainless.build_adapter(together, together.Together, together.AsyncTogether, EXPOSED)
