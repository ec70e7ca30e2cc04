"""`peer:cerebras`: Cerebras's SDK, `chat.completions.create()`, for Chat Completions.

By default, a new client sends a request of its own to warm up the connection; this is turned off.
"""

from __future__ import annotations

from cerebras.cloud import sdk

from streamconform.peers import stainless
from streamconform.peers.openai.completion import ChatFields

EXPOSED = ChatFields(reasoning=("reasoning",))
adapter = stainless.build_adapter(sdk, sdk.Cerebras, EXPOSED, warm_tcp_connection=False)
