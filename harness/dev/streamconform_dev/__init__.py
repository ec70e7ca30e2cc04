"""The workshop: programs for the maintainers of the suite, which exist only in a checkout."""
