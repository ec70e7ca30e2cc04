"""JSON text: decoding it exactly, and reading it while it is still incomplete."""
