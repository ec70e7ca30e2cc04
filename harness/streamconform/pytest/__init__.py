"""The pytest plugin: each trial becomes a test item."""
