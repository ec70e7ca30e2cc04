"""Regenerate the generated parts of the documentation: `conform dev docs --help`."""
