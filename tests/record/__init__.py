"""Tests of `streamconform.record`."""
