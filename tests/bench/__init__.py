"""How fast the reference and the harness are: `python -m tests.bench`. Never asserted, only shown."""
