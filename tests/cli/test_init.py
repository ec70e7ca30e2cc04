"""`conform init`: the files that it writes work unchanged, and existing files stay."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import tomllib
from dataclasses import replace

import pytest
import yaml

from streamconform.init.kits import KITS
from streamconform.install import INSTALL
from streamconform.resources import find_bundled
from streamconform.schemas import find_problems
from streamconform.suite.profiles import find_release
from streamconform.yaml_text.reader import parse
from streamconform_dev.checkout import ROOT

from ..optional_tools import MAVEN_REPOSITORY

WORKFLOW = ".github/workflows/conform.yml"
KNOWN = "conform-known-failures.yaml"
ADAPTER = "tests/conform_adapter.py"
IMPL = f"python:{ADAPTER}:adapter"
EVERY = [ADAPTER, WORKFLOW, KNOWN, "conform.toml"]
RUST = "cmd:target/conform/debug/examples/conform_adapter"
CORE = find_release(find_bundled("specs"), "core")
FEW = ("-k", "openai-chat/text/text-plain", "-n", "1")
CRATE = '[package]\nname = "mine"\nversion = "0.1.0"\nedition = "2021"\n\n[lib]\npath = "lib.rs"\n'
POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <parent><artifactId>other</artifactId></parent>
  <artifactId>mine</artifactId>
</project>
"""
FOLDER = "tests/conform_adapter"
ADAPTERS = {
    "python": ADAPTER,
    "node": "tests/conform_adapter.mjs",
    "go": f"{FOLDER}/main.go",
    "rust": "examples/conform_adapter/main.rs",
    "java": f"{FOLDER}/src/main/java/ConformAdapter.java",
    "ruby": "tests/conform_adapter.rb",
    "php": "tests/conform_adapter.php",
    "c": f"{FOLDER}/adapter.c",
    "perl": "tests/conform_adapter.pl",
}
MARKERS = {"rust": "cargo", "c": "cjson", "python": "slow"}
LANGUAGES = [
    pytest.param(name, marks=[getattr(pytest.mark, MARKERS.get(name, name)), pytest.mark.slow])
    for name in ADAPTERS
]
FILES = {
    "rust": {"Cargo.toml": CRATE, "lib.rs": ""},
    "ruby": {"Gemfile": "# no gems\n"},
    # Debian's packages in place of those that Maven downloads.
    "java": {".mvn/maven.config": f"-o\n-Dmaven.repo.local={MAVEN_REPOSITORY}\n-Djackson.version=2.x\n"},
}
"""The files of a project that `init` needs, or that the tests need to build without a network."""
LINTERS = {
    "go": ("gofmt -d", "go vet"),
    "ruby": ("rubocop --cache false --except Style/StringLiterals,Metrics",),
    "php": ("phpcs --standard=PSR12 --exclude=PSR1.Files.SideEffects",),
    "c": (
        "cc -std=c17 -Wall -Wextra -Wpedantic -Wshadow -Werror -c -o /dev/null",
        "c++ -x c++ -std=c++17 -Wall -Wextra -Werror -c -o /dev/null",
    ),
    "perl": ("perlcritic --quiet",),
}


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


def make_project(project, language):
    """Return a project named `mine` in which `init` can write the template."""
    (project.folder / "mine").mkdir()
    return replace(project, folder=project.folder / "mine", files=FILES.get(language, {}))


@pytest.mark.parametrize("mode", ["bytes", "http"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_template_passes_core_for_one_api_as_it_is(project, language, mode, monkeypatch):
    monkeypatch.setenv("CARGO_NET_OFFLINE", "true")
    monkeypatch.setenv("MAVEN_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")  # halves Maven's CPU time
    made = make_project(project, language)
    ran = made.run("init", "--language", language, "--input", mode)
    assert written(ran)[0] == ADAPTERS[language]
    ran = made.run("smoke")
    assert (ran.code, [line for line in ran.out.splitlines() if line.startswith("FIX")]) == (0, []), ran.err
    ran = made.run("run", "--profile", "core", "-n", "1")
    assert ran.code == 0, ran.out + ran.err
    assert f", {mode})" in ran.out
    assert "No failures: " in ran.out
    for linter in LINTERS.get(language, ()):
        subprocess.run((*linter.split(), ADAPTERS[language]), cwd=made.folder, check=True)


@pytest.mark.parametrize(
    ("manifest", "text", "adapter"),
    [
        ("package.json", '{"name": "mine"}', ADAPTERS["node"]),
        ("go.mod", "module example.org/mine\n", ADAPTERS["go"]),
        ("Cargo.toml", CRATE, ADAPTERS["rust"]),
        ("pom.xml", POM, ADAPTERS["java"]),
        ("composer.json", '{"name": "my/mine"}', ADAPTERS["php"]),
        ("CMakeLists.txt", "cmake_minimum_required(VERSION 3.20)\nproject(mine C)\n", ADAPTERS["c"]),
        (
            "Makefile.PL",
            "WriteMakefile(NAME => 'mine');\n",
            ADAPTERS["perl"],
        ),
        ("pyproject.toml", '[project]\nname = "mine"\n', ADAPTER),
    ],
)
def test_the_language_and_the_name_are_those_of_the_manifest(project, manifest, text, adapter):
    # A folder of Python files does not make it a project in Python.
    made = project.with_file(manifest, text).with_file("mine/__init__.py", "")
    assert written(made.run("init"))[0] == adapter
    text = (made.folder / adapter).read_text("utf-8")
    assert re.search(r"name\W{1,8}(my/)?mine\W", text)


@pytest.mark.parametrize(
    ("manifest", "adapter"),
    [
        ("Gemfile", ADAPTERS["ruby"]),
        ("mine.gemspec", ADAPTERS["ruby"]),
        ("cpanfile", ADAPTERS["perl"]),
        ("setup.py", ADAPTER),
    ],
)
def test_a_manifest_without_a_name_names_the_language(project, manifest, adapter):
    made = project.with_file(manifest, "").with_file("package.json", '{"name": "website"}')
    assert written(made.run("init"))[0] == adapter
    assert made.folder.name in (made.folder / adapter).read_text("utf-8")


def test_the_adapter_is_in_the_folder_of_the_tests(project):
    made = project.with_file("test/test_it.py", "")
    assert written(made.run("init"))[0] == "test/conform_adapter.py"
    assert made.folder.name in (made.folder / "test/conform_adapter.py").read_text("utf-8")


@pytest.mark.parametrize(
    ("manifest", "language"),
    [
        ("build.gradle", "Gradle"),
        ("build.gradle.kts", "Gradle"),
        ("mine.csproj", "C#"),
        ("mine.fsproj", "F#"),
        ("mine.sln", ".NET"),
        ("Package.swift", "Swift"),
        ("mix.exs", "Elixir"),
        ("build.zig", "Zig"),
    ],
)
def test_a_project_in_a_language_without_a_template_gets_a_link_and_no_python(project, manifest, language):
    made = (
        project.with_file(manifest, "").with_file("package.json", "{}").with_file("scripts/__init__.py", "")
    )
    ran = made.run("init")
    assert (ran.code, ran.out) == (2, "")
    assert f"`{manifest}` belongs to a project in " in ran.err
    assert language in ran.err
    (anchor,) = re.findall(r"docs/adapters\.html#([a-z-]+)", ran.err)
    title = anchor.replace("-", " ")
    assert f"\n### {title.capitalize()}\n" in (ROOT / "docs/adapters.md").read_text("utf-8")
    assert sorted(path.name for path in made.folder.iterdir()) == sorted(
        [manifest, "package.json", "scripts"]
    )
    assert written(made.run("init", "--language", "c"))[0] == ADAPTERS["c"]


@pytest.mark.parametrize("mode", ["bytes", "http"])
@pytest.mark.parametrize("language", ADAPTERS)
def test_no_field_of_a_template_is_left_and_every_one_has_the_rules(project, language, mode):
    made = make_project(project, language)
    assert made.run("init", "--language", language, "--input", mode).code == 0
    for path in made.folder.rglob("*"):
        if path.is_file():
            assert re.findall(r"@[a-zA-Z]+@", path.read_text("utf-8")) == []
    text = (made.folder / ADAPTERS[language]).read_text("utf-8")
    for rule in ("does not expose", "both pass", "must not be executed", "raised", "FILL IN"):
        assert rule in text
    assert ("base_url" in text.lower()) == (mode == "http")


@pytest.mark.parametrize("language", [name for name in ADAPTERS if name != "python"])
def test_a_template_and_its_documentation_name_the_oldest_version_that_runs_it(project, language):
    made = make_project(project, language)
    made.run("init", "--language", language)
    needed = f"{KITS[language].title} {KITS[language].minimum}"
    assert f"Needs {needed} or newer" in (made.folder / ADAPTERS[language]).read_text("utf-8")
    assert f"| `{language}` | {needed} |" in (ROOT / "docs" / "adapters.md").read_text("utf-8")


@pytest.mark.parametrize("language", ADAPTERS)
def test_the_usage_in_a_template_has_null_for_a_count_that_the_api_lacks(project, language):
    made = make_project(project, language)
    made.run("init", "--language", language)
    null = {"python": "None", "ruby": "nil", "perl": "undef"}.get(language, "null")
    text = re.sub(r"\s*(?://|#)\s*", " ", (made.folder / ADAPTERS[language]).read_text("utf-8"))
    assert re.findall(r"cache_write['\"]?(?::|\s*=>) ?(\w+)", text) == [null]
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


def test_the_messages_of_a_program_in_thirty_lines_follow_the_protocol():
    page = (ROOT / "docs/adapters.md").read_text("utf-8")
    section = page.partition("\n### A program in thirty lines\n")[2].partition("\n### ")[0]
    messages = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", section, re.DOTALL)]
    assert [message["op"] for message in messages] == ["hello", "run", "result", "result"]
    assert [find_problems("protocol.v1", message, message["op"]) for message in messages] == [()] * 4


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
        ({"Gemfile": ""}, ("--language", "ruby"), ["bundle install"]),
        ({"composer.json": "{}"}, ("--language", "php"), ["composer install --no-interaction"]),
        ({"cpanfile": "", "Makefile.PL": ""}, ("--language", "perl"), ["cpanm --notest --installdeps ."]),
        ({"pom.xml": POM}, ("--language", "java"), ["mvn -q -DskipTests install"]),
        ({}, ("--language", "go"), []),
        ({"Cargo.toml": CRATE}, ("--language", "rust"), []),
    ],
    ids=["nothing", "python", "node", "npm", "npm-locked", "ruby", "php", "perl", "java", "go", "rust"],
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
    build = config(made).get("build")
    timed = [step["run"] for step in steps if step.get("timeout-minutes")]
    assert timed == ([build] if build else [])
    assert runs[: runs.index('test ! -f conform.md || cat conform.md >> "$GITHUB_STEP_SUMMARY"')] == [
        *setup,
        *([build] if build else []),
        INSTALL,
        f"conform run --profile {CORE} --report junit=conform-junit.xml --report markdown=conform.md",
    ]
    uses = [step["uses"].partition("@")[0] for step in steps if "uses" in step]
    language = [line.split()[-1].partition("@")[0] for line in KITS[options[1]].setup[:1]] if options else []
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


@pytest.mark.parametrize("language", ["go", "rust", "java", "c"])
def test_an_adapter_in_a_compiled_language_is_built_first_and_then_started_as_a_program(project, language):
    made = make_project(project, language)
    ran = made.run("init", "--language", language)
    build = config(made)["build"]
    assert build == KITS[language].build.format(tests="tests")
    assert f"next: `{build}`, then `conform smoke" in ran.out
    assert config(made)["impl"].split()[0] in ("cmd:java", f"cmd:{FOLDER}/build/adapter", RUST)


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
