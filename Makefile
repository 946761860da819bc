# Everything runs in .venv, which is made on demand and made anew whenever it is not complete.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Bytecode is kept: each of the many processes of the tests would otherwise compile all modules for itself.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test browser lint kernels collected docs slow coverage mutants test-oldest bench release-check table1 figure5 clean always

help:
	@echo "make demo   audit two scores of a generated hospital, leave a report in demo-output/"
	@echo "make test   lint, then the fast tests"
	@echo "make docs   the documentation, in docs-output/index.html"
	@echo "make bench  the benchmarks, compared with those of the last release"
	@echo "make lint   ruff, mypy, import directions"
	@echo "make slow   the Monte Carlo checks and long fuzzing (hours)"
	@echo "make coverage, make mutants, make test-oldest: how much the tests see, and with old libraries"
	@echo "make release-check  build the package, install it in an empty environment, run the demo from there"
	@echo "make table1 the paper's Monte Carlo study (hours; may be stopped, goes on where it was); make figure5"
	@echo "make clean  remove .venv and everything generated"

# The stamp is written last and names the directory: without it, or after a move, .venv is not to be trusted.
ifneq ($(shell test -x $(BIN)/python && cat $(READY) 2>/dev/null),$(CURDIR))
$(READY): always
endif
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; say which: make PYTHON=/path/to/python")'
	@echo "Setting up $(VENV) (once; takes a few minutes)..."
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@printf '%s' "$(CURDIR)" > $@

demo: $(READY)
	@$(BIN)/fairfrontier demo --out demo-output

lint: $(READY)
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m ruff format --check .
	@$(BIN)/python -m mypy
	@$(BIN)/lint-imports

# Tests of the report need a browser; as root it is installed, elsewhere its absence is told and they are skipped.
browser:
	@command -v chromium >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "Installing chromium for the tests of the report..."; \
	    export DEBIAN_FRONTEND=noninteractive; \
	    apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1 || \
	    { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; }; \
	  else echo "There is no chromium: the tests of the report in a browser will be skipped."; fi; }

# Compiled once beforehand: processes of the tests that start side by side would compile everything for themselves.
kernels: $(READY)
	@cd tests && OMP_NUM_THREADS=1 ../$(BIN)/python -m support.compiled

# For the same reason: pytest rewrites the assertions of all test modules, and keeps them.
collected: $(READY)
	@found=$$($(BIN)/python -m pytest -q -p no:xdist --collect-only) || { echo "$$found"; exit 1; }

# Three processes on two cores: some tests wait for others' processes.
test: browser $(READY)
	@$(MAKE) --no-print-directory -j 2 lint kernels collected
	@$(BIN)/python -m pytest -q -n 3 --dist worksteal -m "not slow"

docs: $(READY)
	@$(BIN)/python -m sphinx -q -W --keep-going -n -b html docs docs-output
	@echo "Open $(CURDIR)/docs-output/index.html in a browser."

# The oldest supported versions of the libraries, in an environment of their own.
test-oldest: .venv-oldest/.ready browser
	@.venv-oldest/bin/python -m pytest -q -n 2 --dist worksteal -m "not slow"

.venv-oldest/.ready: pyproject.toml oldest-versions.txt
	@rm -rf .venv-oldest
	@$(PYTHON) -m venv .venv-oldest
	@.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]" --constraint oldest-versions.txt
	@touch $@

# Lines of compiled kernels are counted only where they run as plain Python, in the tests marked `kernels`.
coverage: $(READY) browser
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow" --cov --cov-report= --cov-fail-under=0
	@NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -p no:xdist -m "kernels and not slow" --cov --cov-append --cov-report= --cov-fail-under=0
	@$(BIN)/python -m coverage report

# Changes of single operators and numbers in sweep, support and inference that no test notices; may be stopped and goes on.
mutants: $(READY)
	@$(BIN)/python tests/mutation_check.py record
	@$(BIN)/python tests/mutation_check.py run --sample 420
	@$(BIN)/python tests/mutation_check.py report

slow: $(READY)
	@$(BIN)/python -m pytest -q -m slow

table1: $(READY)
	@$(BIN)/fairfrontier simulate --out replication/results --descents 100

figure5: $(READY)
	@$(BIN)/python replication/figure5.py

bench: $(READY)
	@$(BIN)/python -m benchmarks

# What users would get: the built package alone, in an environment without this directory.
release-check: $(READY)
	@rm -rf dist .venv-release
	@$(BIN)/python -m hatchling build
	@$(PYTHON) -m venv .venv-release
	@.venv-release/bin/python -m pip install --quiet --disable-pip-version-check "$$(ls dist/*.whl)[report,plots,files]"
	@cd dist && ../.venv-release/bin/fairfrontier --version && ../.venv-release/bin/fairfrontier demo --out demo
	@test -s dist/demo/report.html && rm -rf .venv-release dist/demo && ls dist

clean:
	@rm -rf $(VENV) .venv-oldest .venv-release docs-output .coverage .mutation demo-output example-output build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
