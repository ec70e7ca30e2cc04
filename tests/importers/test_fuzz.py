"""A short campaign of damaged files, and the proof that the campaign notices a lost exchange."""

from __future__ import annotations

from dataclasses import replace

from streamconform_capture.importers import import_file
from streamconform_dev.fuzz import imports


def test_no_damage_escapes_and_no_exchange_is_lost():
    tally, failures = imports.run_inputs(0, 300)
    assert failures == []
    assert {*tally} == {"imported", "partly imported", "refused"}


def test_a_lost_exchange_is_noticed(monkeypatch):
    def lose(*arguments):
        found = import_file(*arguments)
        return replace(found, cassettes=found.cassettes[1:])

    monkeypatch.setattr(imports, "import_file", lose)
    _, failures = imports.run_inputs(0, 10)
    assert any("exchanges: " in failure for failure in failures)


def test_an_exception_that_escapes_is_noticed(monkeypatch):
    def fail(*_):
        raise IndexError("list index out of range")

    monkeypatch.setattr(imports, "import_file", fail)
    _, failures = imports.run_inputs(7, 1)
    assert len(failures) == 1
    assert "IndexError: list index out of range" in failures[0]
