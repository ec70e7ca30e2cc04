"""Compare what an implementation returned with what a trial expects: checks and verdicts. Pure."""
