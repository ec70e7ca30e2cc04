// Adapter for groq-sdk: `for await (const chunk of await client.chat.completions.create({ …, stream: true }))`. Groq also
// reports the usage in `x_groq`.

import Groq from "groq-sdk";
import { serveChat } from "../node/stainless_chat.mjs";

serveChat(Groq, (url) => url, { readChunkUsage: (chunk) => chunk.x_groq?.usage ?? chunk.usage });
