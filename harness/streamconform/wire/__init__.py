"""Split complete bodies into frames, and write frames; payloads are not interpreted."""
