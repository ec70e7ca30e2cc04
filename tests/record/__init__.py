"""Tests of `streamconform_capture.record`."""
