"""YAML in and out: the only package that reads or writes YAML."""
