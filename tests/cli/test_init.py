"""`conform init`: the files that it writes work unchanged, and existing files stay."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import tomllib

import pytest
import yaml

from streamconform.init.plan import MINIMUM_VERSIONS
from streamconform.resources import find_bundled
from streamconform.schemas import find_problems
from streamconform.suite.profiles import find_release
from streamconform.yaml_text.reader import parse
from streamconform_dev.checkout import ROOT

WORKFLOW = ".github/workflows/conform.yml"
KNOWN = "conform-known-failures.yaml"
ADAPTER = "tests/conform_adapter.py"
IMPL = f"python:{ADAPTER}:adapter"
EVERY = [ADAPTER, WORKFLOW, KNOWN, "conform.toml"]
CORE = find_release(find_bundled("specs"), "core")
FEW = ("-k", "openai-chat/text/text-plain", "-n", "1")
CRATE = '[package]\nname = "mine"\nversion = "0.1.0"\nedition = "2021"\n\n[lib]\npath = "lib.rs"\n'
LANGUAGES = [
    pytest.param("python", ADAPTER, id="python"),
    pytest.param("node", "tests/conform_adapter.mjs", id="node", marks=pytest.mark.node),
    pytest.param("go", "tests/conform_adapter/main.go", id="go", marks=pytest.mark.go),
    pytest.param("rust", "examples/conform_adapter/main.rs", id="rust", marks=pytest.mark.cargo),
]


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
    assert config(package) == {"impl": IMPL, "known_failures": KNOWN}
    assert f"`conform smoke {IMPL}`" in ran.out


@pytest.mark.parametrize("mode", ["bytes", "http"])
@pytest.mark.parametrize(("language", "adapter"), LANGUAGES)
def test_every_template_reads_one_api_as_it_is(project, language, adapter, mode):
    made = project.with_file("Cargo.toml", CRATE).with_file("lib.rs", "") if language == "rust" else project
    ran = made.run("init", "--language", language, "--input", mode)
    assert written(ran)[0] == adapter
    for build in re.findall(r"next: `((?:go|cargo) build [^`]+)`", ran.out):
        subprocess.run(
            build.split(), cwd=made.folder, check=True, env={**os.environ, "CARGO_NET_OFFLINE": "true"}
        )
    ran = made.run("smoke")
    assert (ran.code, [line for line in ran.out.splitlines() if line.startswith("FIX")]) == (0, []), ran.err
    few = ("-k", "openai-chat/tool-calls/**", "--deliver", "fast", "--faults", "one", "-n", "1")
    ran = made.run("run", "--profile", "core", *few)
    assert ran.code == 0, ran.out + ran.err
    assert f", {mode})" in ran.out


@pytest.mark.parametrize(
    ("manifest", "text", "adapter"),
    [
        ("package.json", '{"name": "mine"}', "tests/conform_adapter.mjs"),
        ("go.mod", "module example.org/mine\n", "tests/conform_adapter/main.go"),
        ("Cargo.toml", CRATE, "examples/conform_adapter/main.rs"),
        ("pyproject.toml", '[project]\nname = "mine"\n', ADAPTER),
        ("test/test_it.py", "", "test/conform_adapter.py"),
    ],
)
def test_the_language_and_the_folder_of_tests_are_the_projects(project, manifest, text, adapter):
    made = project.with_file(manifest, text)
    assert written(made.run("init"))[0] == adapter
    name = "mine" if "/" not in manifest else made.folder.name
    assert name in (made.folder / adapter).read_text("utf-8")


@pytest.mark.parametrize("mode", ["bytes", "http"])
@pytest.mark.parametrize("language", ["python", "node", "go", "rust"])
def test_no_field_of_a_template_is_left_and_every_one_has_the_rules(project, language, mode):
    made = project.with_file("Cargo.toml", CRATE)
    assert made.run("init", "--language", language, "--input", mode).code == 0
    for path in made.folder.rglob("*"):
        if path.is_file():
            assert re.findall(r"@[a-zA-Z]+@", path.read_text("utf-8")) == []
    (adapter,) = [path for path in made.folder.rglob("*") if path.name in ADAPTER_NAMES]
    text = adapter.read_text("utf-8")
    for rule in ("does not expose", "both pass", "must not be executed", "raised", "FILL IN"):
        assert rule in text
    assert ("base_url" in text.lower()) == (mode == "http")


@pytest.mark.parametrize(
    ("language", "title"), [("node", "Node.js"), ("go", "Go"), ("rust", "Rust")], ids=lambda text: text
)
def test_a_template_and_its_documentation_name_the_oldest_version_that_runs_it(project, language, title):
    made = project.with_file("Cargo.toml", CRATE)
    made.run("init", "--language", language)
    (adapter,) = [path for path in made.folder.rglob("*") if path.name in ADAPTER_NAMES]
    needed = f"{title} {MINIMUM_VERSIONS[language]}"
    assert f"Needs {needed} or newer" in adapter.read_text("utf-8")
    assert f"| `{language}` | {needed} |" in (ROOT / "docs" / "adapters.md").read_text("utf-8")


@pytest.mark.parametrize("language", ["python", "node", "go", "rust"])
def test_the_usage_in_a_template_has_null_for_a_count_that_the_api_lacks(project, language):
    made = project.with_file("Cargo.toml", CRATE)
    made.run("init", "--language", language)
    (adapter,) = [path for path in made.folder.rglob("*") if path.name in ADAPTER_NAMES]
    null = "None" if language == "python" else "null"
    text = re.sub(r"\s*(?://|#)\s*", " ", adapter.read_text("utf-8"))
    assert re.findall(r"cache_write\"?: ?(\w+)", text) == [null]
    assert f"{null} means that the API has no such count" in text


BROKEN = b'data: {"choices": [{"index": 0, "delta": {"content": "Hel\n\n'
LIBRARY = """
export async function next(text) {
  await null;
  return JSON.parse(text);
}
"""


@pytest.mark.node
@pytest.mark.parametrize(
    ("call", "where"),
    [
        ("return read(", r"tests/conform_adapter\.mjs:\d+ in read"),
        ("return await next(", r"node_modules/sse/stream\.mjs:4 in next"),
        ("return [1].map(JSON.parse.bind(null, '{')); (", r"tests/conform_adapter\.mjs:\d+ in ask_library"),
        ("throw null; (", None),
    ],
    ids=["same-file", "package", "callback", "no-error"],
)
def test_the_template_for_node_reports_the_innermost_frame_in_a_file(project, call, where):
    project.run("init", "--language", "node")
    path = project.folder / "tests/conform_adapter.mjs"
    text = path.read_text("utf-8").replace("return read(Buffer", f"{call}Buffer")
    path.write_text('import { next } from "../node_modules/sse/stream.mjs";\n' + text, "utf-8")
    project.with_file("node_modules/sse/stream.mjs", LIBRARY).write()
    source = {"mode": "bytes", "status": 200, "headers": {}, "chunks": [base64.b64encode(BROKEN).decode()]}
    run = {"op": "run", "id": "1", "api": "openai-chat", "model": "m", "request": {}, "input": source}
    done = subprocess.run(
        ("node", path), input=json.dumps(run), capture_output=True, text=True, cwd=project.folder, check=True
    )
    reported = json.loads(done.stdout)["raised"]["where"]
    assert reported is None if where is None else re.fullmatch(where, reported)


ADAPTER_NAMES = ("conform_adapter.py", "conform_adapter.mjs", "main.go", "main.rs")


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
        ({}, ("--language", "go"), ["go build -o /dev/null tests/conform_adapter/main.go"]),
        ({"Cargo.toml": CRATE}, ("--language", "rust"), ["cargo build --example conform_adapter"]),
    ],
    ids=["nothing", "python", "node", "npm", "npm-locked", "go", "rust"],
)
def test_the_workflow_installs_or_compiles_then_runs_and_keeps_the_results(package, files, options, setup):
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
        f"conform run --profile {CORE} --report junit=conform-junit.xml --report markdown=conform.md",
    ]
    uses = [step["uses"].partition("@")[0] for step in steps if "uses" in step]
    language = [f"actions/setup-{name}" for name in ("node", "go") if name in options]
    assert uses == ["actions/checkout", "actions/setup-python", *language, "actions/upload-artifact"]
    assert steps[-1]["with"]["path"].split() == [".conform/runs/", "conform-junit.xml", "conform.md"]


def test_the_reports_of_the_workflow_can_be_written(package):
    package.run("init")
    workflow = yaml.safe_load((package.folder / WORKFLOW).read_text("utf-8"))
    (line,) = [
        step["run"]
        for step in workflow["jobs"]["conform"]["steps"]
        if step.get("run", "").startswith("conform run")
    ]
    ran = package.run(*line.split()[1:], *FEW, "--faults", "none")
    assert ran.code == 0, ran.out + ran.err
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
    made = package.with_file(ADAPTER, "# mine\n")
    ran = made.run("init", "--force")
    assert written(ran) == EVERY
    assert "def adapter(run):" in (made.folder / ADAPTER).read_text()


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
    assert tomllib.loads(text)["tool"]["conform"] == {"impl": IMPL, "known_failures": KNOWN}
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
    assert "kept   pyproject.toml: it already has [tool.conform]" in ran.out
    assert (package.folder / "pyproject.toml").read_text() == mine


def test_a_pyproject_that_takes_no_more_tables_gets_a_file_beside_it(package):
    ran = package.with_file("pyproject.toml", "tool = {ruff = {}}\n").run("init")
    assert "conform.toml" in written(ran)


def test_a_package_in_src_has_to_be_installed_first(project):
    ran = project.with_file("src/mypkg/__init__.py", "").with_file("tests/__init__.py", "").run("init")
    assert written(ran)[0] == ADAPTER
    assert "next: `pip install -e .`, then `conform smoke" in ran.out


@pytest.mark.parametrize(
    ("language", "first"),
    [
        ("go", "go build -o /dev/null tests/conform_adapter/main.go"),
        ("rust", "cargo build --example conform_adapter"),
    ],
)
def test_an_adapter_in_a_compiled_language_has_to_be_built_first(project, language, first):
    ran = project.with_file("Cargo.toml", CRATE).run("init", "--language", language)
    assert f"next: `{first}`, then `conform smoke" in ran.out


def test_the_adapter_is_named_after_the_project_or_its_package(project):
    made = project.with_file("my_pkg/__init__.py", "").with_file("other/__init__.py", "")
    made.with_file("pyproject.toml", PYPROJECT).run("init")
    assert 'adapter.info = {"name": "my_pkg"}' in (made.folder / ADAPTER).read_text()


def test_a_package_and_its_apis_can_be_named(project):
    made = project.with_file("one/__init__.py", "").with_file("two/inner/__init__.py", "")
    made.run("init", "--package", "two.inner", "--api", "anthropic-messages")
    text = (made.folder / ADAPTER).read_text()
    assert 'adapter.apis = ["anthropic-messages"]\n' in text
    assert 'adapter.info = {"name": "two.inner"}' in text


def test_a_folder_inside_a_repository_gets_the_hint_that_workflows_are_read_at_its_root(project):
    (project.folder / ".git").mkdir()
    inner = type(project)(project.folder / "part").with_file("mypkg/__init__.py", "")
    assert "note: GitHub reads workflows at the root" in inner.run("init").out


@pytest.mark.parametrize(
    ("files", "words", "message"),
    [
        ((), ("--package", "nosuch"), "there is no folder `nosuch` or `src/nosuch` here"),
        ((), ("--package", "../up"), "expected a name that can be imported"),
        ((), ("--package", "x", "--language", "node"), "`--package` is for Python"),
        ((), ("--language", "cobol"), "'cobol' is not one of"),
        ((), ("--language", "rust"), "no `Cargo.toml` here"),
        (("Cargo.toml",), (), "`Cargo.toml` cannot be read"),
        ((".github",), (), "`.github/workflows/conform.yml` cannot be written"),
        (("pyproject.toml",), (), "`pyproject.toml` cannot be read"),
    ],
)
def test_a_users_mistake_is_one_clear_message(project, files, words, message):
    made = project
    for name in files:
        made = made.with_file(name, "in the way")
    ran = made.run("init", *words)
    assert ran.code == 2, ran.out + ran.err
    assert message in ran.err
    assert "Traceback" not in ran.err
