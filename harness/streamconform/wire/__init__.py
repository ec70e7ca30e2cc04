"""How bodies are framed; whole bodies, nothing of what is in the payloads."""
