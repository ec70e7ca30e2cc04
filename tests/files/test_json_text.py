"""JSON is parsed only if its values need a bounded amount of memory."""

from __future__ import annotations

import json

import pytest

from streamconform.files import TooLargeError, json_text
from streamconform.files.json_text import check_values


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    monkeypatch.setattr(json_text, "MAX_VALUES", 100)


@pytest.mark.parametrize("value", [[[]] * 101, {str(n): n for n in range(102)}, [{"a": 1}] * 60])
def test_too_many_values_are_refused(value):
    with pytest.raises(TooLargeError, match="more than 100 values"):
        check_values(json.dumps(value).encode())


@pytest.mark.parametrize("text", ["[{," * 500, '\\"[,"' * 500, "\\", '",['])
def test_signs_in_strings_are_no_values(text):
    check_values(json.dumps([text] * 20).encode())
