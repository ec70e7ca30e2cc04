"""Records the bundled `llama-cpp-*` cassettes from a real inference server on this machine."""
