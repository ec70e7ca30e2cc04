"""The replay server: recorded answers over HTTP, broken where a fault requires it."""
