# Two commands matter: `make demo` shows what handful does, `make test` proves it.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

.PHONY: demo serve test test-slow check format results results-trained results-spans results-peers results-confidence results-bench results-serving results-boards shipped clean help

help:
	@echo "make demo       install, build a parser from the starter bot, parse unseen sentences"
	@echo "make serve      install, serve bots and a playground at http://127.0.0.1:5005"
	@echo "make test       install, run the test suite"
	@echo "make test-slow  the heavier checks"
	@echo "make check      ruff, pyright, import-linter"
	@echo "make format     let ruff rewrite the code's layout"
	@echo "make results    measure the untrained figures of README (needs HANDFUL_DATA)"
	@echo "make results-trained  train and measure the paper's rows (needs HANDFUL_DATA, hours)"
	@echo "make results-spans    train and measure joint_spans, in and out of domain (needs HANDFUL_DATA, hours)"
	@echo "make results-peers    handful beside SetFit, logistic regression, a CRF and nlp.js (needs HANDFUL_DATA, npm)"
	@echo "make results-boards   handful and its peers on public boards, beside published figures (needs HANDFUL_DATA)"
	@echo "make results-confidence  calibration, rejection, labels saved by suggest (needs HANDFUL_DATA)"
	@echo "make results-bench    the baselines and the paper's tables (needs HANDFUL_DATA, hours)"
	@echo "make results-serving  the service under load (needs HANDFUL_DATA)"
	@echo "make shipped    train the checkpoint that comes with the package anew (needs HANDFUL_DATA, minutes)"

demo: .venv/installed
	@$(BIN)/handful demo

serve: .venv/installed-serve
	$(BIN)/handful serve

test: .venv/installed-dev
	$(BIN)/python -m pytest

test-slow: .venv/installed-dev
	$(BIN)/python -m pytest -m slow

check: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/pyright

format: .venv/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

results: .venv/installed
	for data in snips atis top released-snips released-atis released-top; do for u_max in 20 100; do \
	  $(BIN)/handful evaluate --learner prototypes --data $$data --split test --u-max $$u_max --episodes 100 --seed 0 \
	    --results results/prototypes.json || exit 1; \
	done; done
	$(BIN)/python benchmarks/result_tables.py --write

results-trained: .venv/installed
	$(BIN)/python benchmarks/paper_rows.py --threads 2
	$(BIN)/python benchmarks/result_tables.py --write

results-spans: .venv/installed-dev
	$(BIN)/python benchmarks/span_rows.py --threads 2
	$(BIN)/python benchmarks/out_of_domain.py
	$(BIN)/python benchmarks/parsing_speed.py --json results/parsing_speed.json
	$(BIN)/python benchmarks/result_tables.py --write

# In the order in which they matter; what has its records is skipped.
results-bench: .venv/installed-dev
	$(BIN)/handful bench --mode single --encoder minilm --row proto --row retriever --row finetune --row fomaml --row '(w,w)'
	$(BIN)/handful bench --mode single --encoder glove --row proto --row retriever --row finetune --row fomaml --row '(w,w)'
	$(BIN)/handful bench --mode single --encoder gte-small --row proto --row '(w,w)'
	$(BIN)/handful bench --mode joint --encoder minilm --row proto --row retriever --row finetune --row fomaml
	$(BIN)/handful bench --mode single --encoder minilm --data top --row '(w,w)' --figure
	$(BIN)/python benchmarks/result_tables.py --write

results-serving: .venv/installed-dev
	$(BIN)/python benchmarks/serving.py --json results/serving.json
	$(BIN)/python benchmarks/result_tables.py --write

results-boards: .venv-peers/installed .venv/installed
	.venv-peers/bin/python benchmarks/boards.py --json results/boards.json
	$(BIN)/python benchmarks/result_tables.py --write

results-peers: .venv-peers/installed .venv/installed
	npm ci --prefix benchmarks/nlpjs
	.venv-peers/bin/python benchmarks/peers.py --json results/peers.json --plot results/peers.svg --threads 2
	$(BIN)/python benchmarks/result_tables.py --write

# What is expected of a bot is derived on domains that the model has not seen: the same training, without them.
results-confidence: .venv/installed-dev
	test -d runs/unseen || $(BIN)/handful train configs/shipped.yml --set held_out_domains=left_out --set epochs=5 \
	  --into runs/unseen --threads 2
	$(BIN)/python benchmarks/confidence.py runs/unseen
	$(BIN)/python benchmarks/labels_saved.py
	$(BIN)/python benchmarks/result_tables.py --write

# The weights' sum is in CARD.md, too; tests compare the two, and the settings with configs/shipped.yml.
shipped: .venv/installed
	$(BIN)/handful train configs/shipped.yml --into runs/shipped --threads 2
	rm -f src/handful/shipped/*.safetensors
	cp runs/shipped/checkpoint/* src/handful/shipped/

clean:
	rm -rf .venv .venv-peers build dist .pytest_cache .ruff_cache .hypothesis

# SetFit and its kin go into an environment of their own: they are compared with, and never needed.
.venv-peers/installed: pyproject.toml constraints.txt | .venv/bin/python
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[peers]'
	@touch $@

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "handful needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 …")'
	$(PYTHON) -m venv .venv

# The stamps make a second run start at once; a changed pyproject or constraints file installs anew.
.venv/installed: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

.venv/installed-serve: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[serve]'
	@touch $@

.venv/installed-dev: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@
