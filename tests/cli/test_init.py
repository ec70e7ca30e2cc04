"""`conform init`: what it writes runs as it is, and what is there already stays."""

from __future__ import annotations

import tomllib

import pytest
import yaml
from streamconform.schemas import find_problems
from streamconform.yaml_text.reader import parse

WORKFLOW = ".github/workflows/conform.yml"
KNOWN = "conform-known-failures.yaml"
EVERY = ["mypkg/conform.py", WORKFLOW, KNOWN, "conform.toml"]
FEW = ("-k", "anthropic-messages/text/**", "--deliver", "fast", "-n", "1")


@pytest.fixture
def package(project):
    return project.with_file("mypkg/__init__.py", "")


def config(project):
    return tomllib.loads((project.folder / "conform.toml").read_text("utf-8"))


def written(ran):
    return [line.split()[1] for line in ran.out.splitlines() if line.startswith("wrote")]


def test_a_package_gets_an_adapter_a_workflow_known_failures_and_a_config(package):
    ran = package.run("init")
    assert (ran.code, ran.err) == (0, "")
    assert written(ran) == EVERY
    assert [name for name in EVERY if not (package.folder / name).is_file()] == []
    assert config(package) == {"impl": "mypkg", "known_failures": KNOWN}
    assert "`conform smoke mypkg`" in ran.out


def test_what_is_written_runs_as_it_is_and_fails_for_real(package):
    package.run("init")
    ran = package.run("run", *FEW)
    assert ran.code == 1, ran.out + ran.err
    assert "faulted" not in ran.out
    assert "fail" in ran.last
    assert 'status: expected "complete", got "incomplete"' in ran.out


def test_smoke_says_of_what_is_written_only_that_nothing_is_read_yet(package):
    package.run("init")
    ran = package.run("smoke")
    fixes = {line.split()[1] for line in ran.out.splitlines() if line.startswith("FIX")}
    assert (ran.code, fixes) == (1, {"reading"})


@pytest.mark.parametrize("options", [(), ("--language", "node")], ids=["python", "node"])
def test_no_place_in_a_template_is_left_empty(package, options):
    assert (package.run("init", *options).code, package.run("init", *options).code) == (0, 0)
    for path in package.folder.rglob("*"):
        if path.is_file() and path.name != "__init__.py":
            text = path.read_text("utf-8")
            assert not [word for word in text.split() if word.startswith("@") and word.endswith("@")]


def test_known_failures_are_in_the_published_form(package):
    package.run("init")
    text = (package.folder / KNOWN).read_text("utf-8")
    assert find_problems("known-failures.v1", parse(text.encode(), KNOWN).value) == ()


@pytest.mark.parametrize(
    ("files", "options", "setup"),
    [
        ({}, (), []),
        ({"setup.py": ""}, (), ["pip install ."]),
        ({}, ("--language", "node"), []),
        ({"package.json": '{"name": "mine"}'}, ("--language", "node"), ["npm install"]),
        ({"package.json": "{}", "package-lock.json": "{}"}, ("--language", "node"), ["npm ci"]),
    ],
    ids=["nothing", "python", "node", "npm", "npm-locked"],
)
def test_the_workflow_installs_runs_and_keeps_the_results(package, files, options, setup):
    made = package
    for name, text in files.items():
        made = made.with_file(name, text)
    assert made.run("init", *options).code == 0
    workflow = yaml.safe_load((made.folder / WORKFLOW).read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    steps = workflow["jobs"]["conform"]["steps"]
    runs = [step["run"] for step in steps if "run" in step]
    assert runs[: len(setup) + 2] == [
        *setup,
        "pip install streamconform",
        "conform run --report junit=conform-junit.xml --report markdown=conform.md",
    ]
    uses = [step["uses"].partition("@")[0] for step in steps if "uses" in step]
    node = ["actions/setup-node"] if "node" in options else []
    assert uses == ["actions/checkout", "actions/setup-python", *node, "actions/upload-artifact"]
    assert steps[-1]["with"]["path"].split() == [".conform/results.jsonl", "conform-junit.xml", "conform.md"]


def test_the_reports_of_the_workflow_can_be_written(package):
    package.run("init")
    workflow = yaml.safe_load((package.folder / WORKFLOW).read_text("utf-8"))
    (line,) = [
        step["run"]
        for step in workflow["jobs"]["conform"]["steps"]
        if step.get("run", "").startswith("conform run")
    ]
    ran = package.run(*line.split()[1:], *FEW)
    assert ran.code == 1, ran.err
    assert (package.folder / "conform-junit.xml").is_file()
    assert (package.folder / "conform.md").is_file()


def test_nothing_that_is_there_is_overwritten_without_force(package):
    made = package
    for name in EVERY:
        made = made.with_file(name, "# mine\n")
    ran = made.run("init")
    assert written(ran) == []
    assert ran.out.count("it exists; use --force to overwrite it") == 4
    assert {(made.folder / name).read_text() for name in EVERY} == {"# mine\n"}


def test_force_overwrites(package):
    made = package.with_file("mypkg/conform.py", "# mine\n")
    ran = made.run("init", "--force")
    assert written(ran) == EVERY
    assert "def adapter(run):" in (made.folder / "mypkg/conform.py").read_text()


def test_a_dry_run_writes_nothing_and_says_what_it_would(package):
    ran = package.run("init", "--dry-run")
    assert [line.split()[2] for line in ran.out.splitlines() if line.startswith("would")] == EVERY
    assert [path.name for path in package.folder.iterdir()] == ["mypkg"]


PYPROJECT = '[project]\nname = "my-pkg"\n[tool.ruff]\nline-length = 100'


def test_the_config_is_put_behind_what_is_in_pyproject(package):
    made = package.with_file("pyproject.toml", PYPROJECT)
    ran = made.run("init")
    assert "added to  pyproject.toml" in ran.out
    text = (made.folder / "pyproject.toml").read_text()
    assert text.startswith(f"{PYPROJECT}\n\n[tool.conform]\n")
    assert tomllib.loads(text)["tool"]["conform"] == {"impl": "mypkg", "known_failures": KNOWN}
    assert not (made.folder / "conform.toml").exists()


def test_line_ends_of_pyproject_stay_what_they_are(package):
    package.write()
    (package.folder / "pyproject.toml").write_bytes(b"[project]\r\nname = 'x'\r\n")
    package.run("init")
    data = (package.folder / "pyproject.toml").read_bytes()
    assert data.count(b"\n") == data.count(b"\r\n") == 6


def test_a_config_in_pyproject_stays_even_under_force(package):
    mine = PYPROJECT + "\n[tool.conform]\nimpl = 'other'\n"
    ran = package.with_file("pyproject.toml", mine).run("init", "--force")
    assert "kept   pyproject.toml: it has [tool.conform] already" in ran.out
    assert (package.folder / "pyproject.toml").read_text() == mine


def test_a_pyproject_that_takes_no_more_tables_gets_a_file_beside_it(package):
    ran = package.with_file("pyproject.toml", "tool = {ruff = {}}\n").run("init")
    assert "conform.toml" in written(ran)


def test_a_package_in_src_is_found_and_has_to_be_installed_first(project):
    ran = project.with_file("src/mypkg/__init__.py", "").with_file("tests/__init__.py", "").run("init")
    assert "src/mypkg/conform.py" in written(ran)
    assert "next: `pip install -e .`, then `conform run`" in ran.out
    assert config(project)["impl"] == "mypkg"


def test_the_package_that_has_the_projects_name_is_meant(project):
    made = project.with_file("my_pkg/__init__.py", "").with_file("other/__init__.py", "")
    ran = made.with_file("pyproject.toml", PYPROJECT).run("init")
    assert "my_pkg/conform.py" in written(ran)


def test_a_package_can_be_named(project):
    made = project.with_file("one/__init__.py", "").with_file("two/inner/__init__.py", "")
    ran = made.run("init", "--package", "two.inner", "--api", "openai-chat")
    assert "two/inner/conform.py" in written(ran)
    assert 'adapter.apis = ["openai-chat"]\n' in (made.folder / "two/inner/conform.py").read_text()


def test_without_a_package_the_adapter_is_a_module(project):
    ran = project.run("init")
    assert written(ran)[0] == "conform_adapter.py"
    ran = project.run("run", *FEW)
    assert ran.code == 1, ran.out + ran.err
    assert "faulted" not in ran.out


@pytest.mark.node
def test_a_program_in_javascript_runs_as_it_is(project):
    made = project.with_file("package.json", '{"name": "mine"}')
    assert written(made.run("init", "--language", "node"))[0] == "conform_adapter.mjs"
    assert config(made)["impl"] == "cmd:node conform_adapter.mjs"
    ran = made.run("smoke")
    fixes = {line.split()[1] for line in ran.out.splitlines() if line.startswith("FIX")}
    assert (ran.code, fixes) == (1, {"reading"}), ran.out + ran.err


def test_a_folder_inside_a_repository_is_told_that_workflows_are_read_at_its_root(project):
    (project.folder / ".git").mkdir()
    inner = type(project)(project.folder / "part").with_file("mypkg/__init__.py", "")
    assert "note: GitHub reads workflows at the root" in inner.run("init").out


@pytest.mark.parametrize(
    ("files", "words", "said"),
    [
        (("one/__init__.py", "two/__init__.py"), (), "several packages here, `one`, `two`: say which"),
        ((), ("--package", "nosuch"), "there is no folder `nosuch` or `src/nosuch` here"),
        ((), ("--package", "../up"), "expected a name that can be imported"),
        ((), ("--package", "x", "--language", "node"), "`--package` is for Python"),
        ((), ("--language", "cobol"), "'cobol' is not one of"),
        ((".github",), (), "`.github/workflows/conform.yml` cannot be written"),
        (("pyproject.toml",), (), "`pyproject.toml` cannot be read"),
    ],
)
def test_a_users_mistake_is_one_clear_message(project, files, words, said):
    made = project
    for name in files:
        made = made.with_file(name, "in the way")
    ran = made.run("init", *words)
    assert ran.code == 2, ran.out + ran.err
    assert said in ran.err
    assert "Traceback" not in ran.err
