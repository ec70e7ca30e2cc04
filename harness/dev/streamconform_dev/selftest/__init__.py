"""`conform dev selftest`: test the suite with parsers that are broken on purpose."""
