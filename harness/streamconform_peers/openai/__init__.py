"""openai, OpenAI's Python SDK: raw streams and the accumulating helper."""
