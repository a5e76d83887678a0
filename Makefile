# make run    set up .venv, time a kernel on a model of an H200, say where its cycles went, write a page about it
# make test   set up .venv, lint, type-check, test (under 15 minutes on 2 cores)
# make test-quick  a part of it that touches everything that is compiled; for a further Python
# make test-full  the long tests too
# make bench  print the speed figures
# make fuzz   try N (100000) mutants of PTX under guard pages, and fewer of machine code; those that end badly go to build/fuzz
# PYTHON=python3.13 makes and uses a .venv of its own for that Python
PYTHON ?= python3
N ?= 100000
VENV := $(if $(filter python3,$(PYTHON)),.venv,.venv/$(subst /,_,$(PYTHON)))
BIN := $(VENV)/bin
# Most files that are installed are never imported; what is imported is translated to bytecode then.
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --editable

# Tests start hundreds of Python processes: one that finds no bytecode takes half a second longer.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test test-quick test-full lint machine functional bench fuzz clean

run: $(VENV)/ready
	$(BIN)/python examples/transpose.py

test: $(VENV)/ready
	$(MAKE) --no-print-directory -j 2 machine lint functional
	$(BIN)/python -m pytest -q -n 2 -m "not slow"

test-quick: $(VENV)/ready
	$(BIN)/python -m pytest -q -n 2 -m quick

test-full: $(VENV)/ready lint
	$(BIN)/python -m pytest -q -n 2 -m "not alone"
	$(BIN)/python -m pytest -q -m alone

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/mypy

# What nearly all tests need: two processes that both find nothing would wait for each other.
machine functional: $(VENV)/ready
	$(BIN)/python -m tests.compiled $@

bench: $(VENV)/ready
	$(BIN)/python benchmarks/functional.py
	$(BIN)/python benchmarks/machine.py

fuzz: $(VENV)/ready
	$(BIN)/python -m tests.fuzz $(N)
	$(BIN)/python -m tests.fuzz $$(($(N) / 10)) --of listing
	$(BIN)/python -m tests.fuzz $$(($(N) / 100)) --of cubin

$(VENV)/ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(INSTALL) ".[nvcc]" --group dev --group nvcc || \
		{ echo "no wheels of nvcc here: tests of applications need another"; $(INSTALL) . --group dev; }
	touch $@

clean:
	rm -rf .venv
