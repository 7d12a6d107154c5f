# A thin front for CMake.  Everything it makes is under build/.
PREFIX ?= /usr/local
BUILD := build
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
GENERATOR = $(if $(shell command -v ninja),-G Ninja,)
CMAKE_OPTIONS ?=

.PHONY: all build configure demo demo-cluster test test-deep quick mutants lint fuzz format docs install \
    uninstall clean setup wheel test-python

all: build

setup:
	@tools/setup.sh

# An existing build folder keeps its generator.
configure: setup
	@cmake -C cmake/developer.cmake -B $(BUILD) $(if $(wildcard $(BUILD)/CMakeCache.txt),,$(GENERATOR)) \
	    -DCMAKE_INSTALL_PREFIX=$(PREFIX) $(CMAKE_OPTIONS)

build: configure
	@cmake --build $(BUILD) -j $(JOBS)

demo: configure
	@cmake --build $(BUILD) -j $(JOBS) --target shoal-bench
	@$(BUILD)/bin/shoal-bench --profile demo --json $(BUILD)/demo.json
	@echo "results: $(BUILD)/demo.json"
	@bench/report/report.py $(BUILD)/demo.json || [ $$? -eq 3 ] # 3: no matplotlib

demo-cluster: configure
	@cmake --build $(BUILD) -j $(JOBS) --target shoal-demo-cluster
	@$(BUILD)/bin/shoal-demo-cluster

# Every suite once, in minutes; what else CI runs takes half an hour.
test:
	@tools/setup.sh --tests
	@tools/ci.sh test

test-deep:
	@tools/setup.sh --tests
	@tools/ci.sh deep

quick: configure
	@cmake --build $(BUILD) -j $(JOBS) --target unit_tests
	@ctest --test-dir $(BUILD) -L '^unit$$' -j $(JOBS) --output-on-failure

# dist/*.whl, for the Python of PYTHON and all that are newer.
PYTHON ?= python3
wheel:
	@tools/setup.sh --python
	@$(PYTHON) -m pip wheel --no-deps --wheel-dir dist .

test-python:
	@tools/setup.sh --tests
	@tools/ci.sh python

mutants: setup
	@tools/run_mutants.py

lint:
	@tools/lint.sh

# make fuzz SECONDS=60 runs each target of tests/fuzz for a minute.
SECONDS ?= 10
fuzz:
	@tools/setup.sh --tests
	@tools/fuzz.sh $(SECONDS)

format:
	@find include src tests tools bench examples bindings -name '*.[ch]' ! -name native.cdef.h \
	    -print0 | xargs -0 clang-format -i

# The API reference: build/docs/html/index.html
docs:
	@tools/setup.sh --docs
	@tools/docs.sh $(BUILD)/docs
	@echo "the API reference: $(BUILD)/docs/html/index.html"

install: build
	@cmake --install $(BUILD)

uninstall:
	@cmake --build $(BUILD) --target uninstall

clean:
	@rm -rf $(BUILD)
