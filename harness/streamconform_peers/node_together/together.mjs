// Adapter for together-ai: `for await (const chunk of await client.chat.completions.create({ …, stream: true }))`. Its usage has
// no documented field for cached or reasoning tokens, so `input` is the whole prompt.

import Together from "together-ai";
import { serveChat } from "../node/stainless_chat.mjs";

const readUsage = ({ prompt_tokens: input = null, completion_tokens: output = null }) => ({ input, output });

serveChat(Together, (url) => `${url}/v1`, { readUsage });
