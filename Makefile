# The two commands of the README are `make demo` and `make test`; both do all the set-up.
.DEFAULT_GOAL := help
.PHONY: help demo down test lint unit e2e bench images kind-load lock

# The name of the demo's cluster: another one runs beside it.
NAME ?= demo
VENV_PYTHON := .venv/bin/python
BOOTSTRAP := tests/cluster/bootstrap

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

demo: ## a cluster with simulated GPUs, Prometheus and three sample jobs (root, Debian)
	@$(BOOTSTRAP) cluster
	@$(VENV_PYTHON) -m tests.cluster demo --name=$(NAME)

down: ## take the demo away
	@$(BOOTSTRAP) cluster
	@$(VENV_PYTHON) -m tests.cluster down --name=$(NAME)

test: ## every check and test, end to end ones on a cluster of their own (root, Debian)
	@$(BOOTSTRAP) cluster
	@$(MAKE) --no-print-directory lint
	@$(VENV_PYTHON) -m tests.cluster prepare
	@$(VENV_PYTHON) -m pytest tests

lint: ## format, lint, types, layers
	@$(BOOTSTRAP) python
	.venv/bin/ruff format --check
	.venv/bin/ruff check
	.venv/bin/mypy
	.venv/bin/lint-imports

unit: ## the tests that need no cluster and no root (the first time builds all binaries)
	@$(BOOTSTRAP) python
	@$(VENV_PYTHON) -m tests.cluster binaries
	@$(VENV_PYTHON) -m pytest tests/unit

# Only a KUBECONFIG given here counts: the tests never touch a cluster that merely stands in the
# environment.
e2e: ## the end to end tests; with KUBECONFIG=... on a cluster that exists
ifeq ($(origin KUBECONFIG),command line)
	@$(BOOTSTRAP) python
	@$(VENV_PYTHON) -m tests.cluster binaries
	@CEPHEID_E2E_KUBECONFIG=$(abspath $(KUBECONFIG)) $(VENV_PYTHON) -m pytest tests/e2e
else
	@$(BOOTSTRAP) cluster
	@$(VENV_PYTHON) -m tests.cluster prepare
	@$(VENV_PYTHON) -m pytest tests/e2e
endif

# Figures, not verdicts: nothing fails on a slow machine. About ten minutes. One thread, since the
# CPU of BLAS threads that wait for more work would be laid at the door of whoever is next.
bench: ## the analysis against what a user would pick instead; DATA=folder adds recorded series
	@$(BOOTSTRAP) python
	@OPENBLAS_NUM_THREADS=1 $(VENV_PYTHON) -m tests.bench $(if $(DATA),--data=$(abspath $(DATA))) $(ARGS)

images: ## all images as one OCI archive; prints its path (root, Debian)
	@$(BOOTSTRAP) cluster
	@$(VENV_PYTHON) -m tests.cluster images

kind-load: ## build the images and load them into kind's cluster (root, Debian)
	archive="$$($(MAKE) --silent images)" && kind load image-archive "$$archive"

lock: ## write requirements.lock anew from pyproject.toml
	@$(BOOTSTRAP) python
	.venv/bin/uv pip compile pyproject.toml --all-extras --group dev --universal \
	  --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --custom-compile-command "make lock" --upgrade --output-file requirements.lock
