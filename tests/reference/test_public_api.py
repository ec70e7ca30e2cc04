"""The public names of `streamconform_reference`, and the example in its docstring."""

from __future__ import annotations

import textwrap

import streamconform_reference


def test_every_public_name_exists():
    missing = [name for name in streamconform_reference.__all__ if not hasattr(streamconform_reference, name)]
    assert missing == []


def test_the_docstring_example_runs(capsys):
    paragraphs = (streamconform_reference.__doc__ or "").split("\n\n")
    example = "\n\n".join(paragraph for paragraph in paragraphs if paragraph.startswith("    "))
    namespace: dict[str, object] = {}
    exec(textwrap.dedent(example), namespace)  # noqa: S102 - the example is our own text
    assert "'type': 'done'" in capsys.readouterr().out
    assert b"message_stop" in namespace["stream"]
    assert namespace["request"]["path"] == "/v1/chat/completions"
