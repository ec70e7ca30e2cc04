"""The replay server: recorded answers over HTTP, broken as faults require."""
