"""Tools beside the pipeline, each named after the command that uses it."""
