"""heliograph, a fictional Python client: the example of CONTRIBUTING.md."""
