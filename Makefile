# The daily work. `pip install '.[test,dev]'` gives PYTHON what the targets need.
PYTHON ?= $(if $(shell command -v python),python,python3)
TESTS  ?= tests
SECONDS ?= 60
TARGETS ?=
N       ?= 200
CYCLES  ?= 10000
ROUNDS  ?= 3
ONLY    ?=
PACKAGE ?= .
TASKS   ?=
PYTHONS ?= python3.10 python3.11 python3.12 python3.13 python3.14 python3.15
OLDEST  ?= python3.10
RUNS    ?= 200
JOBS   ?= $(shell nproc 2> /dev/null || getconf _NPROCESSORS_ONLN || echo 1)

python  = '$(shell $(PYTHON) -c 'import sys; print(sys.executable)')'
# From tests/, as sources that were not compiled in place would hide the crfkit that is installed.
harness = cd tests && $(if $(wildcard crfkit/loops/*.so),PYTHONPATH='$(CURDIR)') $(python) -m
runtime = $(shell $(CC) -print-file-name=$(1))

# An instrumented build lives in a copy of the tree, so that builds never mix: the sdist, which has nothing that was compiled.
unpack = tar -xzf $(1)/*.tar.gz -C build/$@ --strip-components=1
copy   = rm -rf build/$@/dist && $(python) setup.py -q sdist -d build/$@/dist && $(call unpack,build/$@/dist)

.PHONY: build demo test test-all steady bench results lint sanitize races debug fuzz kill-test leaks docs wheel pythons oldest clang clean help

build: ## compile the extensions in place
	$(python) setup.py -q build_ext --inplace -j $(JOBS)

demo: ## the README's first run, with the crfkit that is installed
	mkdir -p build/$@
	crfkit learn templates/chunking.txt data/chunking.train.txt build/$@/chunking.model
	crfkit tag build/$@/chunking.model < data/chunking.test.txt > build/$@/tagged.txt
	crfkit eval build/$@/tagged.txt

test: build ## run the tests on the in-place build (TESTS=tests/... for a part)
	$(python) -m pytest $(TESTS)

test-all: build ## the long tests too, and other random examples each time: ten minutes
	$(python) -m pytest -m "" --hypothesis-profile=random $(TESTS)

steady: ## what has threads, forks, signals or clocks, RUNS=200 times in a row while one core is kept busy
	while :; do :; done & trap "kill $$!" EXIT; $(python) -m pytest -x -m "steady and not long" --runs $(RUNS) $(TESTS)

bench: build ## the table of targets, beside the peers that are installed: a quarter of an hour (ROUNDS=3)
	PYTHONPATH=. $(python) benchmarks/targets.py --rounds $(ROUNDS)

results: papers = PYTHONPATH=$(PACKAGE) $(python) benchmarks/papers
results: build ## train and compare as the papers do, and write docs/results; goes on where it was (ONLY=pages: from the raw results alone; TASKS=conll2003: the runs of one table; PACKAGE=a built tree of the commit it is of)
	$(if $(ONLY)$(TASKS),,for script in sbcd simulated parsing; do $(papers)/$$script.py || exit 1; done)
	$(if $(ONLY)$(TASKS),,if $(python) -c 'import jax' 2>/dev/null; then $(papers)/neural.py; else echo "neural.py: not run, jax is not installed: pip install 'crfkit[neural]'"; fi)
	$(papers)/results.py $(if $(ONLY),--only $(ONLY)) $(if $(TASKS),--tasks $(TASKS))

lint: ## style, types, generated documentation, Cython's hints, versions, leftovers
	$(python) -m ruff check .
	$(python) -m mypy crfkit
	$(python) .ci/lint.py
	$(if $(wildcard crfkit/loops/*.so),PYTHONPATH=.) $(python) docs/generate.py --check

# What the sanitizers say is in files, of each process its own: pytest keeps what is printed, and may not see how a worker ended.
sanitize races: report = '$(CURDIR)'/build/$@/report
sanitized = $(RM) $(report).* && cd build/$@ && CRFKIT_SANITIZE=$(1) $(python) setup.py -q build_ext --inplace -j $(JOBS)
verdict = passed=$$?; ! cat $(report).* 2> /dev/null && exit $$passed

# Threads of sgd, adf and sapo race for weights: their tests run apart, where no other race of theirs is hidden.
lock_free = tests/trainers/test_threads.py
watched = LD_PRELOAD="$(call runtime,libtsan.so)" TSAN_OPTIONS=die_after_fork=0:suppressions=\"$(CURDIR)/.ci/$(1).txt\":log_path=\"$(report)\" \
    $(python) -m pytest -m "steady and not long"

sanitize: ## run the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	$(copy)
	$(call sanitized,1)
	cd build/$@ && LD_PRELOAD="$(call runtime,libasan.so) $(call runtime,libubsan.so)" PYTHONMALLOC=malloc \
	    ASAN_OPTIONS=detect_leaks=0:log_path=\"$(report)\" UBSAN_OPTIONS=print_stacktrace=1:log_path=\"$(report)\" \
	    $(python) -m pytest --hypothesis-profile=quick $(TESTS); $(verdict)

races: ## run what has threads under ThreadSanitizer, which is told of the races that are meant (.ci/races.txt, .ci/races_of_weights.txt)
	$(copy)
	$(call sanitized,thread)
	cd build/$@ && $(call watched,races) $(TESTS) --ignore=$(lock_free) && $(call watched,races_of_weights) $(lock_free); $(verdict)

debug: ## run the tests with every index and assertion checked
	$(copy)
	cd build/$@ && CRFKIT_DEBUG=1 $(python) setup.py -q build_ext --inplace -j $(JOBS)
	cd build/$@ && $(python) -m pytest $(TESTS)

fuzz: ## mutated inputs, SECONDS=60 for each target (TARGETS="eval columns" for some of them, SEED=1 INPUTS=500 for the same again)
	$(harness) fuzz --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(if $(INPUTS),--inputs $(INPUTS)) $(TARGETS)

kill-test: ## kill training N=200 times at random moments
	$(harness) kills --count $(N)

leaks: ## CYCLES=10000 lives of models, after which memory is where it was
	$(harness) leaks --cycles $(CYCLES)

docs: ## write the generated pages, and build the site into build/site; needs '.[docs]'
	$(if $(wildcard crfkit/loops/*.so),PYTHONPATH=.) $(python) docs/generate.py
	NO_MKDOCS_2_WARNING=1 $(python) -m mkdocs build -q

# The tests of the sdist in dist/, without the sources of the package: they see the crfkit that is installed.
tests_only = mkdir -p build/$@ && $(call unpack,dist) && rm -r build/$@/crfkit

wheel: ## build sdist and wheel, and run the sdist's tests against the installed wheel, without the sources
	rm -rf dist build/$@
	$(python) -m build
	$(tests_only)
	$(python) -m venv build/$@/venv
	build/$@/venv/bin/python -m pip install -q "$$(echo dist/*.whl)[test]"
	cd build/$@ && venv/bin/python -m pytest $(TESTS)

pythons: ## a wheel and its tests on each of PYTHONS that is here
	rm -rf dist build/$@
	$(python) -m build --sdist
	$(tests_only)
	for python in $(PYTHONS); do \
	    $$python -c '' 2> /dev/null || { echo "$$python: not here, skipped"; continue; }; \
	    venv=build/$@/venv-$$(basename $$python) && $$python --version && $$python -m venv $$venv && \
	    $$venv/bin/python -m pip install -q "$$(echo dist/*.tar.gz)[test]" && \
	    (cd build/$@ && "$(CURDIR)/$$venv/bin/python" -m pytest $(TESTS)) || exit 1; \
	done

oldest: ## a wheel and its tests with the oldest versions that pyproject.toml allows, of which OLDEST=python3.10 is one
	rm -rf dist build/$@
	$(python) -m build --sdist
	$(tests_only)
	grep -oE '"[a-z-]+>=[0-9.]+"' pyproject.toml | tr -d '"' | sort -V | \
	    awk -F '>=' '{ oldest[$$1] = $$2 } END { for (name in oldest) print name "==" oldest[name] }' > build/$@/versions.txt
	$(OLDEST) -m venv build/$@/venv
	PIP_CONSTRAINT=build/$@/versions.txt PIP_BUILD_CONSTRAINT=build/$@/versions.txt build/$@/venv/bin/python -m pip install -q "$$(echo dist/*.tar.gz)[test]"
	cd build/$@ && venv/bin/python -m pytest $(TESTS)

clang: build ## build with clang in a copy, run the tests there, and compare models with those of the in-place build
	$(copy)
	cd build/$@ && CC=clang $(python) setup.py -q build_ext --inplace -j $(JOBS)
	cd build/$@ && $(python) -m pytest $(TESTS)
	for trainer in lbfgs owlqn sbcd sgd adf arow lookahead; do \
	    for tree in . build/$@; do \
	        (cd $$tree && $(python) -m crfkit learn -q -a $$trainer templates/chunking.txt data/chunking.train.txt $$trainer.model) \
	            && mv $$tree/$$trainer.model build/$@/$$trainer.$$([ $$tree = . ] && echo cc || echo clang).model || exit 1; \
	    done; \
	    cmp build/$@/$$trainer.cc.model build/$@/$$trainer.clang.model || exit 1; \
	done

clean: ## remove everything that was built
	rm -rf build dist *.egg-info .pytest_cache .hypothesis .ruff_cache .mypy_cache
	find crfkit \( -name '*.so' -o -name '*.c' ! -path '*/loops/simd/*' \) -delete

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-10s %s\n", $$1, $$2}' Makefile
