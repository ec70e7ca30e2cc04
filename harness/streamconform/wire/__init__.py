"""Split whole bodies into frames, and write frames; payloads are not interpreted."""
