# Two commands do everything on a fresh machine: `make run` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help run test lint bench golden clean

help: ## This list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/'

run: $(VENV)/.installed-run ## Install what the app needs, then start it (ARGS="--port 8000")
	$(BIN)/python app.py $(ARGS)

test: $(VENV)/.installed-test ## Install what the tests need, then run all of them (ARGS="-k odd_files")
	$(BIN)/python -m pytest $(ARGS)

lint: $(VENV)/.installed-test ## Style, imports and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.installed-run ## Latency of the chosen setups (ARGS="--help")
	$(BIN)/python -m tools.benchmarks $(ARGS)

golden: $(VENV)/.installed-export ## Make the reference arrays of the tests again (needs torch and transformers)
	$(BIN)/python -m tests.golden.make_golden $(ARGS)
	$(BIN)/python -m tests.golden.make_gme $(ARGS)

clean: ## Remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 11) <= v < (3, 14) else f"Triptych needs Python 3.11 to 3.13, and $(PYTHON) is {v[0]}.{v[1]}. Try: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

# A stamp is older than a changed requirement, so a pull that moves a version installs it at the next start.
$(VENV)/.installed-run: requirements.txt constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt -c constraints.txt
	@touch $@

$(VENV)/.installed-test: requirements-test.txt requirements.txt constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-test.txt -c constraints.txt
	@touch $@

$(VENV)/.installed-export: requirements-export.txt requirements.txt constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-export.txt -c constraints.txt
	@touch $@
