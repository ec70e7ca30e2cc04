"""`--impl script:PATH` runs a Python script that speaks the protocol."""

from __future__ import annotations

from ..cli.project import Project

SCRIPT = "from streamconform_reference.__main__ import main\n\nmain()\n"


def test_a_script_is_run_and_judged(tmp_path):
    project = Project(tmp_path).with_file("parser.py", SCRIPT)
    ran = project.run(
        "run", "-i", "script:parser.py", "-k", "ollama-chat/text/plain-text", "--deliver", "fast"
    )
    assert ran.code == 0, ran.out + ran.err
    assert "via script:parser.py" in ran.out
