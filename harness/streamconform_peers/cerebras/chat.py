"""`peer:cerebras`: Chat Completions through Cerebras's SDK, with `chat.completions.create()`.

By default, a new client sends its own request to warm up the connection; this is turned off.
"""

from __future__ import annotations

from cerebras.cloud import sdk

from streamconform.normal.chat import ChatFields
from streamconform_peers import stainless

EXPOSED = ChatFields(reasoning=("reasoning",))
adapter = stainless.build_adapter(sdk, sdk.Cerebras, sdk.AsyncCerebras, EXPOSED, warm_tcp_connection=False)
