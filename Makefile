# make train   from nothing: a virtual environment, then train `small` and evaluate it
# make test    from nothing: a virtual environment, then lint, types and the test suite
# make soak    the long form of the tests that look for what can go wrong: hours of games, kills, damage and attacks
# make libraries   what `make test` leaves out: TorchRL, Tianshou and Ray, which need 500 MB more
# make rllib   the tests of RLlib, which wants a gymnasium of its own, in an environment of their own
# make lowest  the tests of the adapters with the oldest versions that are allowed, in an environment of their own
# make bench   what this machine does now, beside other packages (PEERS=the Python that has them)

PYTHON ?= python3.11
VENV ?= .venv
CONSTRAINTS ?= constraints.txt
EXTRAS ?= dev
BIN = $(VENV)/bin
RUN ?= runs
PEERS ?= $(BIN)/python
export OMP_NUM_THREADS = 1

.PHONY: train test soak libraries lowest adapters rllib rllib-tests lint types warmup bench clean

$(VENV)/.installed: pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint $(CONSTRAINTS) torch
	$(BIN)/python -m pip install --quiet --constraint $(CONSTRAINTS) --editable '.[$(EXTRAS)]'
	touch $@

train: $(VENV)/.installed
	$(BIN)/python -m training.train configs/mandala_v0/small.yaml --runs $(RUN)

test: $(VENV)/.installed
	$(MAKE) --jobs 2 lint types warmup
	$(BIN)/python -m pytest -n 2

soak: $(VENV)/.installed
	$(MAKE) warmup
	$(BIN)/python -m pytest -m slow -n 2

libraries: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --constraint $(CONSTRAINTS) --editable '.[dev,torchrl,tianshou,ray]'
	$(BIN)/python -m pytest tests/adapters/test_multi_agent_libraries.py tests/training/test_ray.py
	$(BIN)/python -m pytest tests/test_docs.py -k 'libraries or scale'

lowest:
	$(MAKE) adapters VENV=.venv-lowest CONSTRAINTS=.ci/lowest.txt

adapters: $(VENV)/.installed
	$(BIN)/python -m pytest -n 2 tests/adapters tests/opponents/test_sb3.py

rllib:
	$(MAKE) rllib-tests VENV=.venv-rllib CONSTRAINTS=.ci/rllib.txt EXTRAS=dev,rllib

rllib-tests: $(VENV)/.installed
	$(BIN)/python -m pytest tests/adapters/test_rllib.py
	$(BIN)/python -m pytest tests/test_docs.py -k rllib

# What the tests would otherwise compile in each of their processes.
warmup: $(VENV)/.installed
	$(BIN)/mandala warmup

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed
	$(BIN)/mypy

bench: $(VENV)/.installed
	$(BIN)/mandala bench
	$(BIN)/python benchmarks/peers.py --python $(PEERS)
	$(BIN)/python benchmarks/learner.py

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
