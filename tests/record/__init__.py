"""Tests of `streamconform.tools.record`."""
