# The two commands of the README are `make demo` and `make test`; both do all the set-up.
.DEFAULT_GOAL := help
.PHONY: help demo down test lint unit e2e bench bench-agent bench-operator bench-history bench-trials bench-scheduler bench-cli bench-reports bench-extender images kind-load manifests lock

# The name of the demo's cluster: another one runs beside it.
NAME ?= demo
# Of pytest, beside each other: more than there are cores, since most tests wait; see tests/pieces.py.
WORKERS ?= 3
# What compares with what the machine itself did: not beside a cluster that wants all its cores.
ALONE := tests/laptop
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
	@$(VENV_PYTHON) -m pytest tests --numprocesses=$(WORKERS) $(foreach folder,$(ALONE),--ignore=$(folder))
	@$(VENV_PYTHON) -m pytest $(ALONE)

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

# Likewise. About 25 minutes, most of it waiting: agents make their passes in real time.
bench-agent: ## one agent between a real API server and Prometheus: memory, CPU, bytes, writes, delay
	@$(BOOTSTRAP) python
	@$(VENV_PYTHON) -m tests.cluster binaries >&2
	@OPENBLAS_NUM_THREADS=1 $(VENV_PYTHON) -m tests.bench.agent $(ARGS)

# Likewise. About a quarter of an hour, most of it the steady state: it is listed anew once.
bench-operator: ## the operator beside 1,000 jobs on kwok nodes: memory, CPU, delay when 200 end at once
	@$(BOOTSTRAP) python
	@$(VENV_PYTHON) -m tests.cluster binaries >&2
	@OPENBLAS_NUM_THREADS=1 $(VENV_PYTHON) -m tests.bench.operator $(ARGS)

# Likewise. About two minutes. PostgreSQL is Debian's package.
bench-history: ## 100,000 jobs in SQLite and in a real PostgreSQL: insertion, listing, bytes
	@$(BOOTSTRAP) python
	@$(VENV_PYTHON) -m tests.bench.history $(ARGS)

# Likewise. About five minutes.
bench-trials: ## the search for a placement on jobs of known truth, beside a grid and random search
	@$(BOOTSTRAP) python
	@OPENBLAS_NUM_THREADS=1 $(VENV_PYTHON) -m tests.bench.trials $(ARGS)

# Likewise. About five minutes, on one core.
bench-scheduler: ## jobs as of published traces on mixed nodes: default scheduler, bin packing, the extender
	@$(BOOTSTRAP) python
	@OPENBLAS_NUM_THREADS=1 $(VENV_PYTHON) -m tests.bench.scheduler $(ARGS)

# Likewise. About three minutes.
bench-cli: ## cepheid run beside time, psrecord and memory_profiler: overhead, accuracy, bytes; start-up
	@$(BOOTSTRAP) python
	@$(VENV_PYTHON) -m tests.bench.laptop $(ARGS)

# Likewise. About two minutes.
bench-reports: ## every report on 10,000 jobs, cepheid top on 1,000 nodes of kwok: CPU, memory, requests
	@$(BOOTSTRAP) python
	@$(VENV_PYTHON) -m tests.cluster binaries >&2
	@$(VENV_PYTHON) -m tests.bench.reports $(ARGS)

# Likewise. About ten minutes.
bench-extender: ## the extender on 1,000 nodes of kwok: 50 questions a second; a real kube-scheduler with and without it
	@$(BOOTSTRAP) python
	@$(VENV_PYTHON) -m tests.cluster binaries >&2
	@OPENBLAS_NUM_THREADS=1 $(VENV_PYTHON) -m tests.bench.extender $(ARGS)

images: ## all images as one OCI archive; prints its path (root, Debian)
	@$(BOOTSTRAP) cluster
	@$(VENV_PYTHON) -m tests.cluster images

kind-load: ## build the images and load them into kind's cluster (root, Debian)
	archive="$$($(MAKE) --silent images)" && kind load image-archive "$$archive"

manifests: ## render manifests/cepheid.yaml, and the rules into prometheus/prometheus.yaml
	@$(BOOTSTRAP) python
	@$(VENV_PYTHON) -m tests.cluster render

lock: ## write requirements.lock and those of the images anew from pyproject.toml
	@$(BOOTSTRAP) python
	.venv/bin/uv pip compile pyproject.toml --all-extras --group dev --universal \
	  --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --custom-compile-command "make lock" --upgrade --output-file requirements.lock
	for process in agent operator; do \
	  .venv/bin/uv pip compile pyproject.toml --extra $$process --constraint requirements.lock \
	    --universal --python-version 3.11 --generate-hashes --no-annotate --no-emit-index-url \
	    --custom-compile-command "make lock" --output-file images/$$process/requirements.lock; \
	done
