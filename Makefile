# Two commands do all the set-up on a fresh machine: `make demo` and `make test`.
#   make demo                           a minute or two: a small made-up shop that changes, four models, three runs
#   make demo MODELS=bboard             three models over made-up messages, three runs; MODELS=all: 22, five runs
#   make demo MODELS=transfers           eight others: money that is passed on too fast, limits of banks (a seed)
#   make demo MODELS=trading             rules and actions: a small stock market whose prices change in bursts
#   make demo DATA=messages.parquet     the same on a file of messages, in monthly steps
#   make test                           the gate;  make test ARGS="tests/sql -k bounds" some of it;
#   make test QUERIES=20000              more random queries; TAPESTRY_SEED=7 make test  others
#   make judge                          all that judges the rewriting, and remember that it passed
#   make docs                           the documentation as a site, in site/ (docs-serve: live)
#   make reference                      docs/reference/ again, from the code
#   make test-all                       every test: the adapter's conformance and real dbt runs too
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
DATA ?=
MODELS ?=
QUERIES ?= 250
JUDGED_QUERIES ?= 750
MORE_QUERIES ?= 4000
# The gate: what a change must pass, in about 15 minutes on two processors. Each test is in one part of
# tests/parts.py, by its folder and its marks: judges, quick and spark are the gate, outside is the rest.
# The first two need no Spark and run on all processors, beside Spark, which leaves much of two of them
# idle. The judges of the rewriting (tools/judged.py) are asked in full where it has changed.
ORACLE := tests/property/test_rewrite_equals_oracle.py
PARALLEL := -n auto --dist worksteal
ARGS ?=
# Of what pip says: which packages come, how big they are, and when they are put in their places.
PROGRESS := grep --line-buffered -oE '^(Obtaining|Installing|Successfully)( [a-z]+)?|^ *(Downloading|Using cached) [^ ]*(whl|gz) .*'
WITH_JAVA = export JAVA_HOME="$$(tools/java.sh)";

.PHONY: help demo test test-all test-lowest judge check lint types layers docs docs-serve reference setup wheel clean

help:
	@sed -n '1,12s/^# \{0,1\}//p' Makefile

demo: setup
	@$(WITH_JAVA) $(BIN)/python -m tapestry.demo $(if $(DATA),--data "$(DATA)") $(if $(MODELS),--models "$(MODELS)")

# The part with Spark runs beside the others and is shown after them.
test: setup
ifeq ($(ARGS),)
	@$(WITH_JAVA) spark=$$(mktemp); trap 'kill $$beside 2>/dev/null || true; rm -f "$$spark"' EXIT; \
	$(BIN)/python -m pytest tests --part spark --durations 12 >"$$spark" 2>&1 & beside=$$!; failed=0; \
	$(BIN)/python -m pytest $$($(BIN)/python -m tools.judged $(QUERIES)) --part judges $(PARALLEL) || failed=1; \
	$(BIN)/python -m pytest tests --part quick $(PARALLEL) --durations 12 || failed=1; \
	wait $$beside || failed=1; cat "$$spark"; exit $$failed
else
	@$(WITH_JAVA) $(BIN)/python -m pytest $(ARGS)
endif

# What it remembers (tests/judged.txt) is committed with the change.
judge: setup
	@$(BIN)/python -m tests.property.killers
	@$(BIN)/python -m pytest tests --part judges --queries $(JUDGED_QUERIES) $(PARALLEL)
	@$(BIN)/python -m tools.judged --passed

test-all: setup
	@$(WITH_JAVA) failed=0; $(MAKE) --no-print-directory test-lowest || failed=1; \
	$(BIN)/python -m pytest $(ORACLE) --queries $(MORE_QUERIES) $(PARALLEL) || failed=1; \
	$(BIN)/python -m pytest tests --part judges,quick --ignore=$(ORACLE) $(PARALLEL) || failed=1; \
	$(BIN)/python -m pytest tests --part spark,outside || failed=1; exit $$failed

# The lowest versions of what users install, in an environment of their own, and the tests that need
# no Spark.
LOWEST := .venv/lowest
LOWEST_TESTS := tests/advise tests/sql tests/report tests/delivery tests/runs tests/schedule
test-lowest: .venv/.installed
	@$(PYTHON) -m venv --clear $(LOWEST) && $(BIN)/python -m tools.lowest >$(LOWEST)/constraints.txt
	@$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check -c $(LOWEST)/constraints.txt '.[local,dev]'
	@$(LOWEST)/bin/python -m pip check
	@$(LOWEST)/bin/python -m pytest $(LOWEST_TESTS) -n auto

check: lint types layers

lint: .venv/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/.installed
	$(BIN)/mypy

layers: .venv/.installed
	$(BIN)/lint-imports

# Material would say at each start that it has a successor.
docs docs-serve: export NO_MKDOCS_2_WARNING = 1

docs: .venv/.installed
	@$(BIN)/mkdocs build --strict
	@echo "site/index.html"

docs-serve: .venv/.installed
	@$(BIN)/mkdocs serve --strict

reference: .venv/.installed
	@$(BIN)/python -m tools.reference

setup: .venv/.installed .venv/.jars

# The virtual environment, and this package in it, editable.
.venv/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
	  || { echo "Python 3.10 or newer is needed (try: make PYTHON=python3.12 …)"; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv --clear .venv \
	  || { echo "python -m venv failed (Debian: apt-get install python3-venv)"; exit 1; }
	@echo "1 of 2: installing into .venv (once, some minutes: Spark is half a gigabyte) …"
	@$(BIN)/python -m pip install --disable-pip-version-check -e '.[local,dev]' | $(PROGRESS)
	@touch $@

# Delta's jars, fetched once into the user's Ivy cache.
.venv/.jars: .venv/.installed
	@echo "2 of 2: Java, and Delta's jars (once, a minute; Spark starts for it) …"
	@$(WITH_JAVA) $(BIN)/python tools/fetch_jars.py
	@touch $@

wheel: .venv/.installed
	$(BIN)/python -m pip wheel --quiet --no-deps -w dist .

clean:
	rm -rf .demo dist site target logs warehouse spark-warehouse metastore_db derby.log
