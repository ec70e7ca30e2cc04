// Adapter for together-ai: `for await (const chunk of await client.chat.completions.create({ …, stream: true }))`.

import Together from "together-ai";
import { serveChat } from "./stainless_chat.mjs";

serveChat(Together, (url) => `${url}/v1`, {});
