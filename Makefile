# Two commands on a fresh machine: make demo, make test. They need Python 3.11 to 3.14 and nothing else.

VENV := .venv
BIN := $(VENV)/bin
SHORT_ON_QUADRANTS := engine exams/test_energies.py steppers/test_heat_bath.py
ON_QUADRANTS := $(SHORT_ON_QUADRANTS) steppers/test_integrator.py \
	potential/test_potential.py potential/staged torch/test_kernel.py torch/test_rollout.py \
	scripting/test_fit_systems.py plugins/rods/test_axes.py plugins/elastic/test_normals.py
# A worker that crashes ends the run: with `loadfile`, tests of its file would be waited for without end.
WORKERS := -n 2 --dist loadfile --no-loadscope-reorder --max-worker-restart 0
CACHE := $(CURDIR)/.cache
PYTEST := TI_OFFLINE_CACHE_FILE_PATH=$(CACHE)/taichi QD_OFFLINE_CACHE_FILE_PATH=$(CACHE)/quadrants \
	$(BIN)/python -m pytest $(WORKERS)
QUADRANTS := MINUSGRAD_ENGINE=quadrants $(PYTEST)
FILES := tests/files tests/app
CHECK := tests/check tests/lint
EXAMS := tests/exams tests/scene tests/project

# The device that `make devices` computes on; WHEELS: a folder to install from, without a network.
ARCH := vulkan
ENGINE := taichi
WHEELS :=
DEVICES := devices engine/test_devices.py engine/test_device_functions.py engine/test_device_refusals.py engine/test_numbers_on_devices.py \
	exams/test_energies.py codegen/test_products.py potential/test_hessian.py steppers/test_steps_on_devices.py \
	steppers/test_searches_on_devices.py steppers/programs/test_programs_on_devices.py \
	adjoint/test_rollouts_on_devices.py app/ensembles/test_ensemble_runs.py

# The whole suite in parts that can be run singly; the last one is all that is in no other.
LONG := long-files long-check long-exams long-rest long-quadrants
MINUTES = "make $@: $$(( ($$(date +%s) - began) / 60 )) min $$(( ($$(date +%s) - began) % 60 )) s"

.PHONY: help docs demo test unit long $(LONG) devices wheels lint bench pictures clean bytecode dist audit sbom lowest newest

help:
	@echo "make demo   install, run a scene of each plugin, show where results and pictures lie"
	@echo "make test   install with the test extra, run unit tests, exams and the samples of long tables"
	@echo "make unit   the tests that start no engine, in less than a minute"
	@echo "make long   the whole suite, or in parts: make $(LONG)"
	@echo "make devices  the exam on a device: ARCH=vulkan or cuda, ENGINE=taichi or quadrants, WHEELS=a folder"
	@echo "make lint   ruff and mypy"
	@echo "make docs   the documentation site in build/site, without a network"
	@echo "make pictures  the pictures of README, pages and gallery, of all scenes or of SCENES (an hour)"
	@echo "make bench  where we stand, in ratios"
	@echo "make lowest  a small suite with the lowest versions that pyproject.toml allows; make newest: with the newest"
	@echo "make dist   wheel and sdist in dist; make audit: known vulnerabilities; make sbom: what an installation contains"

demo: $(VENV)/plot
	@$(BIN)/minusgrad demo

test: bytecode
	@began=$$(date +%s); $(PYTEST) -m "not long" && $(QUADRANTS) $(SHORT_ON_QUADRANTS:%=tests/%) -m "not long"; status=$$?; \
	echo $(MINUTES); exit $$status

unit: bytecode
	@began=$$(date +%s); $(PYTEST) -m "unit and not exam and not long"; status=$$?; echo $(MINUTES); exit $$status

long: $(LONG)

long-files long-check long-exams long-rest long-quadrants: bytecode
	@began=$$(date +%s); $(RUN); status=$$?; echo $(MINUTES); exit $$status

long-files: RUN = $(PYTEST) $(FILES)
long-check: RUN = $(PYTEST) $(CHECK)
long-exams: RUN = $(PYTEST) $(EXAMS)
long-rest: RUN = $(PYTEST) $(patsubst %,--ignore=%,$(FILES) $(CHECK) $(EXAMS))
long-quadrants: RUN = $(QUADRANTS) $(ON_QUADRANTS:%=tests/%)

lint: $(VENV)/test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# Warnings are errors. `docs/conf.py` writes the generated pages into docs/generated/.
docs: $(VENV)/docs
	@echo "reading about 300 pages and running the code of some, for 1 to 4 minutes ..."
	$(BIN)/python -m sphinx -W --keep-going docs build/site
	@echo "the site: build/site/index.html"

bench: $(VENV)/test
	$(BIN)/minusgrad bench

# Hundreds of tests start a process, which would compile all modules again where PYTHONDONTWRITEBYTECODE is set.
bytecode: $(VENV)/test
	@$(BIN)/python -m compileall -q framework plugins tests/support

# The pictures of the README, the pages and the gallery: `make pictures SCENES="two_body wave"` those of these scenes.
pictures: $(VENV)/plot
	$(BIN)/python -m tests.project.shipped_pictures $(SCENES)

# The suite of a device; on a machine without a network from a folder that `make wheels` filled on another one.
devices: $(VENV)/devices
	@began=$$(date +%s); MINUSGRAD_SHORT_LOOPS=1 MINUSGRAD_ARCH=$(ARCH) MINUSGRAD_ENGINE=$(ENGINE) $(PYTEST) $(DEVICES:%=tests/%) -m "not long"; \
	status=$$?; echo $(MINUTES); exit $$status

wheels: $(VENV)/bin/python
	$(BIN)/python -m pip download --dest $(WHEELS) ".[devices]" "setuptools>=77" wheel

# Each marker is an installation of the project with that extra; it is renewed when pyproject.toml changes.
$(VENV)/%: pyproject.toml | $(VENV)/bin/python
	@echo "installing minusgrad[$*] into $(VENV), for a minute or more ..."
	$(BIN)/python -m pip install --disable-pip-version-check $(if $(WHEELS),--no-index --find-links $(WHEELS)) \
		--editable ".[$*]"
	@touch $@

$(VENV)/bin/python:
	@for python in python3 python3.14 python3.13 python3.12 python3.11 python; do \
		if $$python -c "import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))" 2>/dev/null; then \
			exec $$python -m venv $(VENV); \
		fi; \
	done; \
	echo "minusgrad needs Python 3.11, 3.12, 3.13 or 3.14; none of python3, python3.11 ... is one" >&2; exit 2

# The lowest versions of all requirements in an environment of their own, and the newest ones.
lowest: $(VENV)/test
	$(BIN)/python -m tests.project.lowest_versions

newest: $(VENV)/test
	$(BIN)/python -m tests.project.lowest_versions --newest

# A release: docs/project/releasing.md. The tools have an environment of their own, so that they change nothing of ours.
TOOLS := build/tools
dist: $(TOOLS)/installed
	rm -rf dist && $(TOOLS)/bin/python -m build --outdir dist .

audit: $(TOOLS)/installed $(VENV)/test
	$(TOOLS)/bin/pip-audit --skip-editable --path "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"

sbom: dist
	rm -rf build/plain && $(BIN)/python -m venv build/plain && build/plain/bin/python -m pip install dist/*.whl
	$(TOOLS)/bin/cyclonedx-py environment build/plain/bin/python --pyproject pyproject.toml --of JSON -o build/minusgrad.cdx.json

$(TOOLS)/installed: | $(VENV)/bin/python
	$(BIN)/python -m venv $(TOOLS) && $(TOOLS)/bin/python -m pip install "build>=1.2" "cyclonedx-bom>=7" "pip-audit>=2.9"
	@touch $@

clean:
	rm -rf $(VENV) $(CACHE) runs build docs/generated *.egg-info
