"""Mutation testing: change the harness in small ways, and require that a test fails."""
