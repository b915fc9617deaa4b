# Everything a newcomer needs: Python >= 3.11 and make. Each target sets up .venv by itself.
# The same by hand:  python3 -m venv .venv && .venv/bin/pip install -e '.[dev]'

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# One more than there are cores: some tests wait.
JOBS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')
# The processes that tests start would compile all modules anew, each a second and a half.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all mutants lint types digests bench clean install
.DEFAULT_GOAL := demo

install: $(STAMP)

$(STAMP): pyproject.toml
	@test -n "$(PYTHON)" || { echo "simcluster needs Python 3.11 or later: make PYTHON=/path/to/python3" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	$(BIN)/python -m compileall -q simcluster models faults noise tasks agents eval
	@touch $@

demo: $(STAMP)  ## a scoreboard of the reference agents over the suite lite
	$(BIN)/simcluster eval --suite lite --agent expert --agent runbook --agent restarter --agent noop

test: $(STAMP)  ## all tests, with a sample of the long sweeps
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal

test-all: $(STAMP)  ## all tests, the long sweeps whole
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal --whole

mutants: $(STAMP)  ## wrong changes of the program, and how many of them the tests notice
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[mutants]'
	$(BIN)/python -m tests.mutants

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

digests: $(STAMP)  ## the same runs on every Python found: equal digests
	PYTHON=$(BIN)/python .ci/digests

bench: $(STAMP)
	$(BIN)/simcluster bench

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
