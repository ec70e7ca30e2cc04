// Adapter for @cerebras/cerebras_cloud_sdk: `for await (const chunk of await client.chat.completions.create({ …, stream: true
// }))`. By default, a new client sends a request of its own to warm up the connection; this is turned off.

import Cerebras from "@cerebras/cerebras_cloud_sdk";
import { serveChat } from "../node/stainless_chat.mjs";

serveChat(Cerebras, (url) => url, {}, { warmTCPConnection: false });
