# Every target makes the environment in .venv first, when it is missing or pyproject.toml or constraints.txt changed.
PYTHON ?= python3
PROCESSES ?= 2
# What else pytest gets: make test ARGS="tests/trace --randomly-seed=7"
ARGS ?=
# Whether `make test` installs a browser and fonts where it may; `no` leaves the system alone.
SYSTEM_PACKAGES ?= yes
BIN := .venv/bin
READY := .venv/.ready
PEERS := $(if $(wildcard benchmarks/peers/venv/*/bin/python),--peers benchmarks/peers)

.DEFAULT_GOAL := help
.PHONY: help demo test slow check system-packages bench docs clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' $(MAKEFILE_LIST) | expand -t 24

demo: $(READY) ## Train on generated dates, score, translate and draw attention; no download
	@$(BIN)/saccade demo

test: $(READY) ## Run every test but the slow ones, in random order
ifneq ($(SYSTEM_PACKAGES),no)
	@.ci/system-packages --if-allowed
endif
	@$(BIN)/python -m pytest -q -n $(PROCESSES) $(ARGS)

slow: $(READY) ## Run the slow tests: every claim of the papers, in small
	@$(BIN)/python -m pytest -q -m slow $(ARGS)

check: $(READY) ## Check formatting, lint, types and the directions of imports
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary
	@report=$$($(BIN)/lint-imports --no-cache --no-logo) || { echo "$$report"; exit 1; }

bench: $(READY) ## Measure training beside a plain torch loop and installed peers; with MODEL=DIR, decoding too
	@$(BIN)/python -m benchmarks.train $(PEERS)
	@$(if $(MODEL),$(BIN)/python -m benchmarks.decode --model "$(MODEL)" $(PEERS))

system-packages: ## Install a browser and fonts for the tests, with apt-get
	@.ci/system-packages

docs: $(READY) ## Write the page of settings, docs/settings.md, from the code
	@$(BIN)/python docs/make_settings.py

clean: ## Remove the environment and all caches; runs stay
	@rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist
	@find src tests benchmarks -not -path '*/venv/*' -name __pycache__ -type d -exec rm -rf {} +

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "saccade needs Python 3.11 or newer, and $(PYTHON) is older or absent. Name another: make PYTHON=python3.12 ..."; \
	  exit 1; }
	@echo "Installing saccade and what it needs into .venv (a few minutes, once)" >&2
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $@
