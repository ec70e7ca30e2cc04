"""Read and write YAML; no other package does so."""
