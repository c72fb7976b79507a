# `make` alone lists the targets. Everything is built into .venv; nothing else is needed before.
# With PYTHON=python3.13 that Python is used, in an environment of its own: .venv-python3.13.

PYTHON ?=
VENV := .venv$(if $(PYTHON),-$(notdir $(PYTHON)))
STAMP := $(VENV)/.stamp
ARGS ?=
ROUNDS ?= 1
# Tests run in so many processes at once: more than there are cores, because they wait for shells and
# timers as much as they compute.
WORKERS ?= $(shell expr 3 '*' $$(getconf _NPROCESSORS_ONLN) / 2)

.DEFAULT_GOAL := help
.PHONY: help setup demo tour test test-long smoke e2e peer reference picture check bench clean

help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-16s %s\n", $$1, $$2}'

setup: $(STAMP) ## create .venv with the package and its tools

demo: $(STAMP) ## repair a small project in a real session, and prove it
	@$(VENV)/bin/agent-pty demo

tour: $(STAMP) ## watch sessions at work while their daemon is killed
	@sh scripts/tour

# Two runs: what measures time comes last, with nothing beside it. Status 5: no test was selected.
test: $(STAMP) ## run the tests, e.g. make test ARGS="-k foo" PYTHON=python3.13
	@sh scripts/system-packages --for test
	$(VENV)/bin/pytest -q -n $(WORKERS) --dist loadfile -m "not peer and not long and not serial" $(ARGS) || [ $$? = 5 ]
	$(VENV)/bin/pytest -q -m "serial and not long" $(ARGS) || [ $$? = 5 ]

test-long: $(STAMP) ## run the large counts that `make test` leaves out
	@sh scripts/system-packages --for test
	$(VENV)/bin/pytest -q -m long $(ARGS)

smoke: $(STAMP) ## try each surface on every Python that is here, as root also as an ordinary user
	@sh scripts/smoke-everywhere $(VENV)/bin/python

e2e: $(STAMP) ## test the whole product in real tmux panes; the report is .e2e/report.md
	@sh scripts/system-packages --for test
	@scripts/e2e-tmux.sh --ci --artifacts .e2e --bin $(VENV)/bin

peer: $(STAMP) ## run the original's own tests against our k, e.g. make peer ROUNDS=20
	@sh scripts/system-packages --for test
	PEER_ROUNDS=$(ROUNDS) $(VENV)/bin/pytest -q -m peer tests/peer

reference: $(STAMP) ## write docs/reference*.md and the Python API from the op table
	@$(VENV)/bin/python -m agent_pty.words.reference > docs/reference.md
	@$(VENV)/bin/python -m agent_pty.cli.reference > docs/reference-cli.md
	@$(VENV)/bin/python -m agent_pty.words.tools.reference > docs/reference-tools.md
	@$(VENV)/bin/python -m agent_pty.api.generator
	@$(VENV)/bin/ruff format -q src/agent_pty/api/generated

picture: $(STAMP) ## draw the picture of README.md by our own exporter
	@PYTHON=$(VENV)/bin/python sh scripts/picture

check: $(STAMP) ## formatting, lint and types
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy

bench: $(STAMP) ## measure, beside the peers
	@if [ -d bench ]; then $(VENV)/bin/python -m bench $(ARGS); else echo 'bench: nothing to measure yet'; fi

clean: ## remove what make created
	rm -rf .venv .venv-* .venv.lock .mypy_cache .ruff_cache .pytest_cache .hypothesis .bench .e2e
	find src tests bench -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# The stamp is written last, so an interrupted setup is taken up again.
$(STAMP): pyproject.toml src/agent_pty/cli/script package-lock.json
	@set -e; if ! $(VENV)/bin/python -m pip --version >/dev/null 2>&1; then \
		python=$$(sh scripts/system-packages --for setup $(PYTHON)); \
		echo "setup: $(VENV) with $$python"; \
		"$$python" -m venv --clear $(VENV); \
	fi
	@$(VENV)/bin/python -m pip install -qq --disable-pip-version-check -e '.[dev]'
	@$(VENV)/bin/python -m pip install -qq --disable-pip-version-check --no-deps 'mini-swe-agent>=2.4'
	@sh scripts/player
	@touch $@
