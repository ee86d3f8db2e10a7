# Two commands: `make run` and `make test`. Each does its own set-up.
.PHONY: run test lint bench app setup
BIN = .venv/bin

setup:
	@packaging/setup.sh

test: setup
	@$(BIN)/pytest

lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

run: setup
	@packaging/run.sh

bench: setup
	@$(BIN)/python -m tests.bench

# The bundle of this platform, in dist/. PYTHON: the prefix of a CPython 3.13, in place of uv's own.
app: setup
	@$(BIN)/python packaging/build_app.py $(if $(PYTHON),--python "$(PYTHON)")
