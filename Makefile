# Targets for people; `make` alone lists them.
PYTHON ?= python3
VENV ?= .venv
QUIET = --quiet
BIN = $(VENV)/bin
STAMP = $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help venv demo test test-quick lint docs docs-commands dist bench bench-quick papers results figures joint speedup sizeup
.PHONY: faults fuzz mutants mutants-sample
.PHONY: scaleup soak digests test-hadoop test-spark hadoop-up hadoop-down hadoop-status emr-requirements test-all-pythons clean

# what hadoop-conf/cluster.py reads
export NODES VCORES MEMORY DATANODES PORT_BASE MINUTES

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 24

venv: $(STAMP) ## set up the virtual environment

$(STAMP): setup.cfg pyproject.toml
	@echo 'pip installs mr_elm and its packages into $(VENV), which takes minutes: `make venv QUIET=` shows each step'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(QUIET) --editable '.[dev]'
	@touch $(STAMP)

demo: $(STAMP) ## train, evaluate and plot on two real data sets
	$(BIN)/python -m benchmarks.demo build/demo

figures: $(STAMP) ## draw the figures of the gallery (docs/figures; NAMES="drift nodes")
	PYTHONPATH=. $(BIN)/python docs/figures/draw.py docs/figures $(NAMES)

joint: $(STAMP) ## draw what leaves and what landmarks give to the method auto (docs/figures/joint.png)
	$(BIN)/python docs/figures/joint.py docs/figures/joint.png

# two processes more than cores: some always wait for Hadoop, for Spark, or for the stand-in of EMR
WORKERS = --numprocesses $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2) --maxprocesses 4 --dist worksteal

test: $(STAMP) ## run all tests, those of style and types too, on up to four cores
	$(BIN)/python -m pytest $(WORKERS)

# files of unit tests that take more than some seconds
SLOW = arrow_rows auto_estimators choose compiled conversion dual importance joint leaf_sums linalg metric_estimators models n_jobs \
	probability_estimators trees underflow unscaled_columns wording

test-quick: $(STAMP) ## run the fast unit tests, and each command once (a minute)
	$(BIN)/python -m pytest $(WORKERS) tests/library \
		tests/jobs/test_each_command.py $(SLOW:%=--ignore=tests/library/test_%.py)

test-hadoop: $(STAMP) ## test on a local Hadoop of its own that fails (about 25 minutes; needs java and mvn)
	$(BIN)/python -m pytest -m long tests/cluster --ignore=tests/cluster/test_spark_on_yarn.py

test-spark: $(STAMP) ## test Spark on YARN and HDFS, on a local Hadoop whose machines fail (up to 20 minutes; needs java and mvn)
	$(BIN)/python -m pytest -m long tests/cluster/test_spark_on_yarn.py

digests: $(STAMP) ## store the digests of models that this machine trains (tests/jobs/digests.json)
	PYTHONPATH=tests:. $(BIN)/python -m reference.digests

soak: $(STAMP) ## attack with random rows, models and killed tasks for a while (MINUTES=30)
	PYTHONPATH=tests $(BIN)/python tests/properties/soak.py $(or $(MINUTES),30)

fuzz: $(STAMP) ## search for inputs that break the properties, led by the code that they reach (MINUTES=30)
	@$(BIN)/python -m pip install --quiet --editable '.[fuzz]'
	PYTHONPATH=tests nice $(BIN)/python tests/fuzz.py $(or $(MINUTES),30)

faults: $(STAMP) ## let tasks be killed, disks fill up or die, clocks jump and memory run out, on all cores and on Spark (20 minutes)
	$(BIN)/python -m pytest -m 'long or not long' --numprocesses 2 tests/faults

mutants: $(STAMP) ## count the changes of code that no test notices: hours, goes on where it was stopped (ROOMS="sums scores/threshold")
	@$(BIN)/python -m pip install --quiet --editable '.[mutants]'
	@nice $(BIN)/python tests/mutants.py $(ROOMS)

mutants-sample: $(STAMP) ## the same of 200 changes, always the same ones
	@$(BIN)/python -m pip install --quiet --editable '.[mutants]'
	@nice $(BIN)/python tests/mutants.py $(ROOMS) --sample 200

hadoop-up: ## start a local Hadoop (NODES=2 VCORES=2 MEMORY=4096; INSECURE=1 without a JDK)
	@$(PYTHON) hadoop-conf/cluster.py up $(if $(filter 1,$(INSECURE)),--insecure)

hadoop-down: ## stop it
	@$(PYTHON) hadoop-conf/cluster.py down

hadoop-status: ## show its daemons
	@$(PYTHON) hadoop-conf/cluster.py status

emr-requirements: $(STAMP) ## choose what nodes of Amazon EMR install (hadoop-conf/emr-requirements.txt)
	$(BIN)/python hadoop-conf/emr_requirements.py

lint: $(STAMP) ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs-commands: $(STAMP) ## write the page of all commands and options (docs/commands.md)
	$(BIN)/python docs/site/commands.py docs/commands.md

docs: $(STAMP) docs-commands ## build the manual and the API as a site (build/docs/index.html)
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	rm -rf build/docs
	mkdir -p build/docs-source
	$(BIN)/python -m sphinx -q -W --keep-going -E -j auto -c docs/site -d build/docs-trees build/docs-source build/docs
	$(BIN)/python docs/site/links.py build/docs

dist: $(STAMP) ## build sdist and wheel, and take the first steps of the README by the wheel alone (build/dist)
	rm -rf build/dist build/lib build/bdist.* build/wheel-venv
	$(BIN)/python -m pip install --quiet --editable '.[dist]'
	$(BIN)/python -m build --outdir build/dist .
	$(PYTHON) -m venv build/wheel-venv
	build/wheel-venv/bin/python -m pip install --quiet "$$(ls build/dist/*.whl)[sklearn,plot,onnx]"
	$(BIN)/python tests/reference/first_steps.py build/wheel-venv/bin

# without its peers a comparison goes on, and names them
PEERS = $(BIN)/python -m pip install --quiet --editable '.[bench]' || echo 'peers are missing' >&2

bench: $(STAMP) ## measure all that is claimed, on a clean commit and a quiet machine: 45 minutes (build/bench; RACES="map train")
	@$(PEERS)
	@$(BIN)/python -m benchmarks bench build/bench $(RACES)

bench-quick: $(STAMP) ## the same on few rows, in a minute, for a look (build/bench-quick)
	@$(BIN)/python -m benchmarks bench build/bench-quick $(RACES) --size quick

papers: $(STAMP) ## run the experiments of the papers: hours, goes on where it was stopped (PART=oelm; SMALL=1 for a look; build/papers)
	@$(PEERS)
	@$(BIN)/python -m benchmarks papers build/papers$(if $(SMALL),-small) $(PART) $(if $(SMALL),--small)

results: $(STAMP) ## write the pages of what `make bench` and `make papers` measured (docs/results)
	@$(BIN)/python -m benchmarks results build/bench build/papers --pages docs/results

# NODES, SIZES, FEATURES, HIDDEN and REPEATS where they are said; EXTRA for more, such as EXTRA=--resume
SCALE = $(BIN)/python -m benchmarks.scaling $@ -r $(or $(RUNNER),local) --method $(or $(METHOD),pesvm) $(if $(NODES),--nodes $(NODES)) \
  $(if $(SIZES),--sizes $(SIZES)) $(if $(FEATURES),--features $(FEATURES)) $(if $(HIDDEN),--hidden $(HIDDEN)) \
  $(if $(REPEATS),--repeats $(REPEATS)) $(EXTRA)

speedup: $(STAMP) ## measure how much faster more nodes train (RUNNER=local METHOD=pesvm NODES="1 2" SIZES=2e6 REPEATS=3)
	$(SCALE)

sizeup: $(STAMP) ## measure how much longer more rows take (the same variables; EXTRA=--resume goes on)
	$(SCALE)

scaleup: $(STAMP) ## measure whether more nodes train on as many more rows in the same time (the same variables)
	$(SCALE)

test-all-pythons: ## run the tests on every supported Python that is installed
	@for version in 3.10 3.11 3.12 3.13; do \
	  python=$$(ls "$$(pyenv root 2>/dev/null)"/versions/$$version.*/bin/python 2>/dev/null | tail -n 1); \
	  python=$${python:-python$$version}; \
	  if "$$python" --version >/dev/null 2>&1; then \
	    $(MAKE) --no-print-directory test PYTHON="$$python" VENV=.venv-$$version || exit 1; \
	  else echo "python$$version is not installed: skipped"; fi; \
	done

clean: ## remove what was built; stops a local Hadoop first
	@for settings in $(wildcard build/hadoop*/settings.json); do \
	  $(PYTHON) hadoop-conf/cluster.py --state "$$(dirname $$settings)" down || exit 1; done
	rm -rf build $(VENV) .venv-* *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
