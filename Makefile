# make run    set up .venv, run the demo
# make test   set up .venv, lint, type-check, test (under 20 minutes on 2 cores)
# make test-full  the long tests too
# make bench  print the speed figures
# make fuzz   try N (100000) mutants of PTX under guard pages; those that end badly go to build/fuzz
PYTHON ?= python3
N ?= 100000
BIN := .venv/bin

.PHONY: run test test-full lint bench fuzz clean

run: .venv/ready
	$(BIN)/python examples/saxpy.py

test: .venv/ready lint
	$(BIN)/python -m pytest -q -n 2 -m "not slow"

test-full: .venv/ready lint
	$(BIN)/python -m pytest -q -n 2 -m "not alone"
	$(BIN)/python -m pytest -q -m alone

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: .venv/ready
	$(BIN)/python benchmarks/functional.py
	$(BIN)/python benchmarks/machine.py

fuzz: .venv/ready
	$(BIN)/python -m tests.fuzz $(N)

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $@

clean:
	rm -rf .venv
