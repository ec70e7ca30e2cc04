"""Record the bundled `llama-cpp-*` cassettes with a real inference server on this machine."""
