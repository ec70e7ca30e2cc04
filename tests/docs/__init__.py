"""Regenerate the generated parts of the documentation: `python -m tests.docs --help`."""
