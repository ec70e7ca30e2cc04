"""The folder in which mutmut runs, with the layout that it expects: the code below `src`."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from streamconform_dev.checkout import ROOT

WORKSPACES = ROOT / ".conform" / "mutation"
PLUGIN = Path(__file__).with_name("fastest_first.py")
LINKED = ("specs", "cassettes", "docs", "reference_impl", "README.md", "CHANGELOG.md", "LICENSE")
"""The files that tests read besides the code; links are enough, because only `src` is mutated."""

TESTS = {
    "known_failures": ("tests/harness/test_known_failures.py",),
    "suite": (
        "tests/harness/test_calls.py",
        "tests/harness/test_cassettes.py",
        "tests/harness/test_documents.py",
        "tests/harness/test_expectation.py",
        "tests/harness/test_load.py",
        "tests/harness/test_profiles.py",
        "tests/harness/test_request_cases.py",
        "tests/harness/test_select_expand.py",
        "tests/suite/test_catalog.py",
        "tests/suite/test_evidence.py",
        "tests/suite/test_lint.py",
        "tests/suite/test_old_names.py",
        "tests/suite/test_order.py",
        "tests/suite/test_provenance.py",
        "tests/suite/test_pulled.py",
        "tests/suite/test_scenarios.py",
        "tests/suite/test_shapes.py",
    ),
    "judge": (
        "tests/harness/test_align.py",
        "tests/harness/test_calls.py",
        "tests/harness/test_claims.py",
        "tests/harness/test_compare.py",
        "tests/harness/test_decode.py",
        "tests/harness/test_fairness.py",
        "tests/harness/test_invariants.py",
        "tests/harness/test_judge.py",
        "tests/harness/test_judge_bounds.py",
        "tests/harness/test_match.py",
        "tests/harness/test_partial.py",
        "tests/harness/test_request_cases.py",
        "tests/harness/test_round_trip_checks.py",
        "tests/harness/test_schema_problems.py",
        "tests/harness/test_through.py",
        "tests/harness/test_verdict_rules.py",
        "tests/suite/test_clients_that_raise.py",
        "tests/suite/test_cohere_results.py",
        "tests/suite/test_needed_claims.py",
        "tests/suite/test_unknown_counts.py",
    ),
}
"""The tests that may kill the mutants of a package. Tests of commands are left out: they run the command in a
forked process, in which mutmut cannot see the functions that a test calls."""

DESELECTED = (
    "tests/harness/test_calls.py::test_a_capability_without_its_function_is_not_claimed",
    "tests/harness/test_calls.py::test_a_function_that_raises_is_the_adapters_fault",
    "tests/harness/test_calls.py::test_an_adapter_has_the_functions_that_are_its_attributes",
    "tests/harness/test_calls.py::test_an_adapter_without_capabilities_and_functions_claims_all_of_streams",
    "tests/harness/test_calls.py::test_an_output_that_json_does_not_have_is_the_failure_of_the_library",
    "tests/harness/test_cassettes.py::test_any_json_in_a_request_survives_a_round_trip",
    "tests/harness/test_documents.py::test_a_program_is_informed_that_the_answer_does_not_stream",
    "tests/harness/test_select_expand.py::test_one_case_of_each_api_with_server_sent_events_is_a_sample",
    "tests/suite/test_catalog.py::test_the_catalog_of_the_bundled_suite_has_the_ids_of_its_cases_in_their_order",
    "tests/suite/test_old_names.py::test_a_run_and_a_known_failures_file_may_have_the_old_name",
    "tests/suite/test_old_names.py::test_results_of_an_earlier_version_have_todays_name",
    "tests/suite/test_shapes.py::test_the_bundled_streams_have_only_known_shapes",
)
"""Tests in these files that take seconds, because they load the full suite or run programs."""

CONFIG = """
[tool.mutmut]
source_paths = ["src"]
only_mutate = [{paths}]
pytest_add_cli_args_test_selection = [{tests}]
pytest_add_cli_args = ["-p", "no:cacheprovider", "-p", "{plugin}", "--hypothesis-profile=many", {deselected}]
max_stack_depth = -1
track_dependencies = false
use_git_change_detection = false
timeout_multiplier = 5.0
timeout_constant = 10.0
"""


def make_workspace(package: str, names: Iterable[str]) -> Path:
    """Copy code and tests into a new workspace for a package or modules of it, and return its folder."""
    workspace = WORKSPACES / package
    shutil.rmtree(workspace, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    shutil.copytree(ROOT / "harness" / "streamconform", workspace / "src" / "streamconform", ignore=ignored)
    mutants = workspace / "mutants"
    mutants.mkdir()
    shutil.copytree(ROOT / "tests", workspace / "tests", ignore=ignored)
    for linked in LINKED:
        (mutants / linked).symlink_to(ROOT / linked)
    # Tests find the code of the checkout below `harness`; here that is the mutated code.
    (mutants / "harness").symlink_to("src")
    shutil.copy(PLUGIN, mutants)
    tests = ", ".join(f'"{path}"' for path in TESTS[package])
    files = (f"{package}/{name.partition('.')[2] or '*'}.py" for name in names)
    paths = ", ".join(f'"src/streamconform/{file}"' for file in files)
    deselected = ", ".join(f'"--deselect={name}"' for name in DESELECTED)
    config = CONFIG.format(paths=paths, tests=tests, deselected=deselected, plugin=PLUGIN.stem)
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    (workspace / "pyproject.toml").write_text(project + config, "utf-8")
    return workspace
