"""Run trials and write their results."""
