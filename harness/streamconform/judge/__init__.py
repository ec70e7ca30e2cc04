"""Compare an implementation's answer with the trial's expectation: checks and verdicts. Pure."""
