# Needs python3 (3.11 or newer), pip and make. Everything else is installed into .venv on first use.

PYTHON ?= python3
BIN    := .venv/bin
READY  := .venv/.ready
PIP    := $(BIN)/python -m pip install -q --disable-pip-version-check
TYPED  := .venv/typed# the package as installed, for the type checker, which does not know package-dir

# What tests compare with: one at a time, as there may be no wheel of one of them for this machine.
PEERS  := import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["peers"], sep="\n")

.PHONY: demo test durations test-all lint bench hunt size update-golden docs clean

demo: $(READY)
	@sh models/demo.sh

test: $(READY)
	$(BIN)/pytest -n 2 --dist loadfile

durations: $(READY)
	$(BIN)/pytest -n 2 --dist loadfile -m "slow or not slow" --record-durations

test-all: $(READY)
	$(BIN)/pytest -n 2 --dist loadfile -m "slow or not slow"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@rm -rf $(TYPED) && mkdir -p $(TYPED)/dpc
	@ln -s $(CURDIR)/dpc/* $(CURDIR)/dsl $(CURDIR)/inference $(CURDIR)/estimators $(TYPED)/dpc/
	cd $(TYPED) && $(CURDIR)/$(BIN)/mypy --config-file $(CURDIR)/pyproject.toml -p dpc
	$(BIN)/dpc fmt --check models

bench: $(READY)
	$(BIN)/python bench/check.py
	$(BIN)/python bench/density.py
	$(BIN)/python bench/scaling.py
	$(BIN)/python bench/networks.py
	$(BIN)/python bench/chains.py
	$(BIN)/python bench/loopy.py
	$(BIN)/python bench/gradients.py
	$(BIN)/python bench/learning.py
	$(BIN)/python bench/posterior.py

hunt: $(READY)
	$(BIN)/python bench/hunt.py --count 300
	$(BIN)/python bench/hunt.py --count 150 --seed 5000 --hessian
	$(BIN)/python bench/hunt_finite.py --count 300
	$(BIN)/python bench/hunt_inputs.py --count 2000
	$(BIN)/python bench/hunt_fits.py --count 104

size:
	@$(PYTHON) bench/size.py

update-golden: $(READY)
	$(BIN)/python tests/golden.py

docs: $(READY)
	$(BIN)/python docs/generate.py

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis out

# A virtual environment is stale when pyproject.toml is newer, or when it was made elsewhere or by another Python.
STAMP := $(CURDIR) $(shell $(PYTHON) -c 'import sys; print(sys.version_info[:3])')
ifneq ($(STAMP),$(shell cat $(READY) 2>/dev/null))
.PHONY: $(READY)
endif

$(READY): pyproject.toml setup.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "dpc needs Python 3.11 or newer; set PYTHON=..."; exit 1; }
	@rm -rf .venv
	@$(PYTHON) -m venv .venv || { $(PYTHON) -m venv --without-pip .venv && $(PYTHON) -m pip --python $(BIN)/python install -q pip; }
	@echo "Installing dpc and what it needs into .venv (a minute or two, once)"
	@$(PIP) -e '.[dev]'
	@$(BIN)/python -c '$(PEERS)' | while read peer; do \
	    $(PIP) --only-binary :all: "$$peer" 2>/dev/null || echo "No $$peer here: the tests that compare with it are skipped"; done
	@echo "$(STAMP)" > $(READY)
