"""The server that stands for the provider: recorded answers over HTTP, broken where that is asked for."""
