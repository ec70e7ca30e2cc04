"""Tools outside the pipeline, each named after the command that uses it."""
