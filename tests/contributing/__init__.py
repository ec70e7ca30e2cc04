"""The examples of CONTRIBUTING.md: the files that its steps add, and a test that performs the steps."""
