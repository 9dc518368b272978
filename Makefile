# Every target sets up what it needs in .venv; nothing but Python (3.11 or newer) and make has to be there.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# the samples go into a store of their own and no default place is looked at: a demo never meets your own logs
DEMO   := DEDUPSTATS_DB=out/demo.duckdb $(BIN)/dedupstats

.DEFAULT_GOAL := help
.PHONY: help demo test lint format unit bench samples docs wheel clean

help: ## Show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 18

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "dedupstats needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 1; }
	@echo "Making $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.run: pyproject.toml $(VENV)/.python
	@echo "Installing into $(VENV); the first time this takes about a minute."
	@PYTHONWARNINGS=ignore $(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.python
	@echo "Installing into $(VENV), with what the tests need; the first time this takes some minutes."
	@PYTHONWARNINGS=ignore $(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.run

demo: $(VENV)/.run ## Import sample_data/ into a fresh store, print the first screen, write reports to out/
	@mkdir -p out && rm -f out/demo.duckdb out/demo.duckdb.wal
	@$(DEMO) import sample_data > out/import.txt 2>&1 || { cat out/import.txt; exit 1; }
	@$(DEMO) report --demo -o out/report.html -o out/report.md -o out/report.json

test: lint unit ## Lint, type check, run all tests

lint: $(VENV)/.dev ## Check style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: $(VENV)/.dev ## Run the tests alone
	$(BIN)/pytest -n auto

format: $(VENV)/.dev ## Rewrite the code in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev ## Print the benchmark ratios (takes minutes)
	$(BIN)/python tests/bench/import_speed.py
	$(BIN)/python tests/bench/least_import.py
	$(BIN)/python tests/bench/warm_import.py
	$(BIN)/python tests/bench/rates_speed.py
	$(BIN)/python tests/bench/token_error.py
	$(BIN)/python tests/bench/simulate_speed.py
	$(BIN)/python tests/bench/cost_in_simulate.py

samples: $(VENV)/.run ## Make sample_data/ anew (it is committed; a test compares)
	$(BIN)/python sample_data/generate.py

docs: $(VENV)/.run ## Make docs/REFERENCE.md anew from --help and the views
	$(BIN)/python docs/generate.py

wheel: $(VENV)/.dev ## Build the wheel into dist/
	$(BIN)/python -m build --wheel

clean: ## Remove what the other targets made
	rm -rf $(VENV) out build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
