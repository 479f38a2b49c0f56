# Two commands on a fresh machine: make demo, make test. They need Python 3.11 to 3.13 and nothing else.

VENV := .venv
BIN := $(VENV)/bin
DEMO := runs/demo
ON_QUADRANTS := exam integrators langevin potential runtime special staged torch_kernel torch_rollout
WORKERS := -n 2 --dist loadfile --no-loadscope-reorder --max-worker-restart 2
SCENES := two_body outer_solar_system stretch laser_butterfly

.PHONY: help demo test quick lint bench pictures clean

help:
	@echo "make demo   install, run a scene of each plugin, show where results and pictures lie"
	@echo "make test   install with the test extra, run the whole suite, and its core on the second engine"
	@echo "make quick  the suite without its slow tests"
	@echo "make lint   ruff and mypy"
	@echo "make bench  where we stand, in ratios"

demo: $(VENV)/plot
	@for scene in $(SCENES); do \
		$(BIN)/minusgrad run scenes/$$scene.toml --out $(DEMO)/$$scene --force && \
		$(BIN)/minusgrad plot $(DEMO)/$$scene || exit $$?; \
	done
	@echo "results: $(DEMO)/*/trajectory.h5 (H5MD)   pictures: $(DEMO)/*/pictures/*.png"

test: $(VENV)/test
	$(BIN)/python -m pytest $(WORKERS)
	MINUSGRAD_ENGINE=quadrants $(BIN)/python -m pytest $(WORKERS) -m "not slow" $(ON_QUADRANTS:%=tests/test_%.py)

quick: $(VENV)/test
	$(BIN)/python -m pytest $(WORKERS) -m "not slow"

lint: $(VENV)/test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: $(VENV)/test
	$(BIN)/minusgrad bench

# The pictures that the README shows.
pictures: $(VENV)/plot
	@for shown in gravity_seed/orbits two_body/orbits outer_solar_system/orbits plummer/orbits \
		elastic_seed/mesh cantilever/mesh laser_butterfly/dose laser_image/mesh; do \
		scene=$${shown%/*} && \
		$(BIN)/minusgrad run scenes/$$scene.toml --out runs/pictures/$$scene --force && \
		$(BIN)/minusgrad plot runs/pictures/$$scene && \
		cp runs/pictures/$$scene/pictures/$${shown#*/}.png scenes/pictures/$$scene.png || exit $$?; \
	done

# Each marker is an installation of the project with that extra; it is made anew when pyproject.toml changes.
$(VENV)/%: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@

$(VENV)/bin/python:
	@for python in python3 python3.13 python3.12 python3.11 python; do \
		if $$python -c "import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))" 2>/dev/null; then \
			exec $$python -m venv $(VENV); \
		fi; \
	done; \
	echo "minusgrad needs Python 3.11, 3.12 or 3.13; none of python3, python3.11 ... is one" >&2; exit 2

clean:
	rm -rf $(VENV) runs build *.egg-info
