"""`peer:groq`: Chat Completions through Groq's SDK, with `chat.completions.create()`.

Groq reports the token counts in the last chunk's `x_groq` and, on request, in `usage`.
"""

from __future__ import annotations

import groq

from streamconform.normal.chat import ChatFields
from streamconform_peers import stainless

EXPOSED = ChatFields(reasoning=("reasoning",), usage=(("usage",), ("x_groq", "usage")))
adapter = stainless.build_adapter(groq, groq.Groq, groq.AsyncGroq, EXPOSED)
