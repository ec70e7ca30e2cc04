"""Find and replace secrets: what counts as one, in which encodings, and what takes its place. Pure."""
