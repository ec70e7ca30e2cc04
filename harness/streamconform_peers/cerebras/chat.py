"""`peer:cerebras`: Chat Completions through Cerebras's SDK, with `chat.completions.create()`.

By default, a new client sends its own request to warm up the connection; this is turned off.
"""

from __future__ import annotations

from cerebras.cloud import sdk

from streamconform_peers import stainless
from streamconform_peers.chat_completion import ChatFields

EXPOSED = ChatFields(reasoning=("reasoning",))
adapter = stainless.build_adapter(sdk, sdk.Cerebras, sdk.AsyncCerebras, EXPOSED, warm_tcp_connection=False)
