# Two commands: `make run` and `make test`. Each does its own set-up.
.PHONY: run test lint bench setup
UV = PATH="$(CURDIR)/.tools/bin:$$PATH" uv

setup:
	@packaging/setup.sh

test: setup
	@$(UV) run --frozen pytest

lint: setup
	@$(UV) run --frozen ruff check .
	@$(UV) run --frozen ruff format --check .
	@$(UV) run --frozen mypy
	@$(UV) run --frozen lint-imports

run: setup
	@packaging/run.sh
