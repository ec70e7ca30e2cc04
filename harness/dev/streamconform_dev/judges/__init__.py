"""`conform dev judges`: compare judges in other languages with the judge in Python."""
