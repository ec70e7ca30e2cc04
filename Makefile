# `make run` and `make test` need Python 3.11 or newer and nothing else; they make .venv themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help run test test-slowest test-nightly coverage lint lint-javascript types format format-javascript docs docs-fast selftest selftest-nightly innocents mutation bench matrix matrix-update order rehearse outdated site generators judges clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

run: $(VENV)/.base ## Judge the bundled reference parser against every bundled case
	@$(BIN)/conform run

test: $(VENV)/.dev ## Run all tests
	$(BIN)/python -m pytest -n auto --dist worksteal

test-slowest: $(VENV)/.dev ## Run all tests, and list the 20 that take the most CPU time
	$(BIN)/python -m pytest -n auto --dist worksteal -q --cpu-report dist/cpu-times.txt
	@head -21 dist/cpu-times.txt

test-nightly: $(VENV)/.dev ## Run all tests, with ten times the examples, whole samples and the programs of findings
	STREAMCONFORM_NIGHTLY=1 $(BIN)/python -m pytest -n auto --dist worksteal -q

coverage: $(VENV)/.dev ## Run all tests, and show the branch coverage (2.5 times the CPU time of `make test`)
	@$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n auto --dist worksteal -q
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

lint: $(VENV)/.dev ## Check style, specs and cassettes
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/conform lint --strict
	@if command -v npm > /dev/null; then $(MAKE) --no-print-directory lint-javascript; else echo "JavaScript is not checked: no npm"; fi

lint-javascript: node_modules/.installed ## Check the style of the JavaScript, with npm
	node_modules/.bin/biome ci

types: $(VENV)/.dev ## Check types
	$(BIN)/mypy

format: $(VENV)/.dev ## Format the code
	$(BIN)/ruff format
	$(BIN)/ruff check --fix
	@if command -v npm > /dev/null; then $(MAKE) --no-print-directory format-javascript; fi

format-javascript: node_modules/.installed
	node_modules/.bin/biome check --write

docs: $(VENV)/.dev ## Regenerate what is generated in the documentation, and the golden files
	@$(BIN)/conform dev docs

docs-fast: $(VENV)/.dev ## The same without the self-test, which takes minutes
	@$(BIN)/conform dev docs --fast

selftest: $(VENV)/.base ## Judge the suite itself with broken parsers
	$(BIN)/conform dev selftest
	$(BIN)/conform dev selftest --deliver variants

selftest-nightly: $(VENV)/.base ## The same with every case for every parser, and the numbers of cases that catch something
	$(BIN)/conform dev selftest --full

innocents: $(VENV)/.base ## Check that no case fails a parser for a freedom that the documentation grants
	$(BIN)/conform dev selftest --innocent

# The packages whose survivors are all explained in streamconform_dev/mutation/survivors.yaml.
MODULE ?= known_failures judge suite

mutation: $(VENV)/.mutation ## Check that a test fails for each small change to the code; MODULE=suite.select for one module
	@$(BIN)/python -m streamconform_dev.mutation $(MODULE)

bench: $(VENV)/.base ## Show how fast the reference and the suite are
	@$(BIN)/conform dev bench

matrix: $(VENV)/.dev ## Judge every peer, or those in PEERS="a b", and write docs/matrix
	@$(BIN)/conform dev matrix $(UPDATE) $(PEERS)

matrix-update: ## Judge peers again, rewrite their known failures, and list what is fixed, new or changed
	@$(MAKE) --no-print-directory matrix UPDATE=--update

order: $(VENV)/.dev ## Choose the trials that `--budget` runs first, from the results of `make matrix` for all peers
	@$(BIN)/python -m streamconform_dev.matrix.trial_order

rehearse: $(VENV)/.dev ## Build, install and use each package of a release; PACKAGES="wheel suite" for some of them
	@$(BIN)/conform dev rehearse $(PACKAGES)

outdated: $(VENV)/.dev ## List outdated libraries, and the new names in newer releases of the providers' SDKs
	@$(BIN)/conform dev outdated --new-names

site: $(VENV)/.dev ## Build the website into dist/site; every page can be opened from disk
	@$(BIN)/conform dev site

generators: $(VENV)/.dev ## Install the generators of types that a test runs, with npm
	@$(BIN)/python -m streamconform_dev.type_generators.install

judges: harness/judges/typescript/node_modules/.installed ## Install what compiles and tests the judges in other languages, with npm

clean: ## Remove what the other targets made
	rm -rf $(VENV) node_modules harness/judges/*/node_modules harness/judges/*/dist dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .conform .coverage .coverage.*

# The tool is one program without dependencies, so its exact version in package.json pins all of it.
node_modules/.installed: package.json
	@npm install --ignore-scripts --no-audit --no-fund --no-package-lock --silent
	@touch $@

harness/judges/%/node_modules/.installed: harness/judges/%/package.json
	@npm install --prefix harness/judges/$* --ignore-scripts --no-audit --no-fund --no-package-lock --silent
	@touch $@

# pip before 25.1 does not read dependency groups
$(VENV)/.base: pyproject.toml harness/dev/pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable . --editable harness/dev
	@touch $@

$(VENV)/.mutation: $(VENV)/.dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --group mutation
	@touch $@

$(VENV)/.dev: $(VENV)/.base
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --group dev
	@touch $@
