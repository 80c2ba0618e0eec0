# Two commands to know: make demo, make test. Everything runs in .venv, which is made here.

PYTHON ?= python3
BIN := .venv/bin
FRONT_END := $(wildcard labextension/*.json labextension/*.mjs) \
             $(shell find labextension/src labextension/style labextension/schema -type f 2>/dev/null)
COMPILED := $(wildcard gradviz/*/*.c gradviz/*/*/*.c gradviz/*.h gradviz/*/*/*.h)

.PHONY: help demo test cupy lab lint bench conformance format chromium compiler clean

help:
	@echo 'make demo    profile the three stories and two real programs; findings here, reports in reports/'
	@echo 'make test    run every test (installs Debian'\''s Chromium and g++ when root may)'
	@echo 'make cupy    run the tests of the GPU code on CuPy 13 and 14, which needs no GPU'
	@echo 'make lab     open JupyterLab on the notebooks'
	@echo 'make lint    check style and types'
	@echo 'make bench   measure against the rivals; writes benchmarks/results.md (ONLY=eager,W2 for a part)'
	@echo 'make conformance  run the suites of autograd, PyTorch, JAX and the Array API; writes docs/conformance.md (ONLY=torch for a part)'
	@echo 'make format  lay out the Python code'
	@echo 'make clean   remove .venv and all that was built'

demo: .venv/installed-demo
	$(BIN)/gradviz demo

test: .venv/installed-test chromium compiler cupy
	cd labextension && { [ -d node_modules ] || npm ci --no-audit --no-fund; } && npm test
	$(BIN)/pytest -n auto --dist loadfile -m 'not alone'
	$(BIN)/pytest -m alone

# CuPy's two majors cannot stand in one environment; each gets a small one, of its wheel and what our engine needs.
CUPY := 13 14
cupy: $(CUPY:%=.venv-cupy%/installed)
	for major in $(CUPY); do \
	  .venv-cupy$$major/bin/python -m pytest --quiet --show-capture=no --confcutdir=tests/devices/cuda tests/devices/cuda || exit 1; \
	done

.venv-cupy%/installed: tests/devices/cuda/requirements-%.txt
	$(PYTHON) -m venv .venv-cupy$*
	.venv-cupy$*/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

lab: .venv/installed-lab
	$(BIN)/jupyter lab notebooks

lint: .venv/installed-test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright

bench: .venv/installed-bench
	$(BIN)/python -m benchmarks --only '$(ONLY)'

# ARRAY_API_TESTS names a checkout of array-api-tests; without it the run says how to get one.
conformance: .venv/installed-conformance
	$(BIN)/python -m tests.conformance --only '$(ONLY)'

format: .venv/installed-test
	$(BIN)/ruff check --select I --fix
	$(BIN)/ruff format

# One stamp for each extra, made again when what is installed or built would change.
.venv/installed-%: pyproject.toml hatch_build.py gradviz/version.py $(FRONT_END) $(COMPILED) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

.PRECIOUS: .venv/installed-%

$(BIN)/python:
	$(PYTHON) -m venv .venv

# The browser tests use /usr/bin/chromium; elsewhere it has to be there already.
chromium:
	@if ! command -v chromium >/dev/null && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	  apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null; \
	fi

# The CUDA C of plans is run on the host by the tests, as C++.
compiler:
	@if ! command -v g++ >/dev/null && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends g++ >/dev/null; \
	fi

clean:
	rm -rf .venv .venv-cupy* gradviz/*/_*.so gradviz/*/*/_*.so gradviz/*/_*.pyd gradviz/*/*/_*.pyd gradviz/static gradviz/labextension labextension/lib \
	  labextension/node_modules reports dist
