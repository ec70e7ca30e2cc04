"""Expected and got to checks and verdicts. Pure."""
