"""The key `build` compiles the config's implementation before it is started, with a time limit of its own."""

from __future__ import annotations

import json
import sys
import time

import pytest

from streamconform.adapters import build

CASE = "anthropic-messages/text/single-text-block"
ADAPTER = "import runpy\nrunpy.run_module('streamconform_reference', run_name='__main__')\n"
IMPL = f"cmd:{sys.executable} built.py"
BUILD = f"""\
import pathlib, time
time.sleep(float(pathlib.Path('pause').read_text()))
pathlib.Path('built.py').write_text({ADAPTER!r})
"""
BROKEN = "import sys\nprint('compiling')\nsys.exit('reader.c:7: error: expected `;`')\n"
COMMANDS = [
    ("run", "-k", CASE, "--deliver", "fast", "--faults", "none", "-n", "1"),
    ("smoke",),
    ("explain", CASE, "-i", IMPL),
    ("minimise", CASE, "-i", IMPL),
    ("fuzz", "--api", "anthropic-messages", "--examples", "1", "-n", "1"),
    ("compare", IMPL, "--corpus", "corpus"),
]


@pytest.fixture
def compiled(project):
    return project.with_file("build.py", BUILD).with_file("pause", "0").with_file("corpus/empty.jsonl", "")


def configure(project, **values):
    """Return the project with a config file in which `build` runs build.py."""
    values = {"impl": IMPL, "build": f"{sys.executable} -S build.py", **values}
    return project.with_file(
        "conform.toml", "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())
    )


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_a_command_compiles_the_implementation_of_the_config_before_it_starts_it(compiled, words):
    ran = configure(compiled).run(*words)
    assert (compiled.folder / "built.py").is_file(), ran.err
    # There is no failure to minimise, and no recording to compare.
    assert ran.code == (2 if words[0] in ("minimise", "compare") else 0), ran.out + ran.err
    assert "cannot be" not in ran.err


@pytest.mark.parametrize("words", [("run", "-k", CASE, "-i", "reference"), ("explain", CASE), ("list",)])
def test_nothing_is_compiled_for_another_implementation(compiled, words):
    ran = configure(compiled).run(*words)
    assert ran.code == 0, ran.err
    assert not (compiled.folder / "built.py").exists()


@pytest.mark.parametrize("words", [("smoke", "--"), ("run", "-k", CASE, "--deliver", "fast", "--")])
def test_a_program_after_two_dashes_is_compiled_if_it_is_that_of_the_config(compiled, words):
    ran = configure(compiled).run(*words, sys.executable, "built.py")
    assert ran.code == 0, ran.out + ran.err


def test_compiling_does_not_count_as_the_start(compiled):
    ran = configure(compiled.with_file("pause", "1.5"), start_timeout=1).run(*COMMANDS[0])
    assert ran.code == 0, ran.out + ran.err


def test_a_build_that_fails_ends_the_command_with_its_output(compiled):
    ran = configure(compiled.with_file("build.py", BROKEN)).run(*COMMANDS[0])
    assert (ran.code, ran.out) == (3, "")
    assert f"the build `{sys.executable} -S build.py` exited with code 1; its output ends with:\n" in ran.err
    assert "\n  | compiling\n  | reader.c:7: error: expected `;`" in ran.err


def test_a_build_that_takes_too_long_is_killed(compiled):
    ran = configure(compiled.with_file("pause", "1"), build_timeout=0.3).run(*COMMANDS[0])
    assert ran.code == 3
    assert "took longer than 0.3 s (`build_timeout`)" in ran.err
    time.sleep(1)
    assert not (compiled.folder / "built.py").exists()


def test_a_long_build_is_announced(monkeypatch):
    monkeypatch.setattr(build, "NOTICE_SECONDS", 0.1)
    notes = []
    slow = f"{sys.executable} -S -c 'import time; time.sleep(0.5)'"
    build.run_build(build.Build(slow, frozenset({IMPL}), 60), (IMPL,), notes.append)
    assert notes == [f"building: {slow}"]


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("no-such-compiler x", 3, "`no-such-compiler x` cannot be started: No such file"),
        ("make 'x", 2, "`build` is `make 'x`: No closing quotation"),
    ],
)
def test_a_command_that_is_none_is_one_clear_message(compiled, command, code, message):
    ran = configure(compiled, build=command).run(*COMMANDS[0])
    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err
