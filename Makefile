# Everything a person or CI runs has a target here; CI and the pre-commit hooks call these and nothing else.
# Needs Python 3.11 or later, Rust, a JDK 17 and Maven. All Python packages go into virtual environments in this folder.

PYTHON ?= python3
VENV := .venv
VENV_SPARK40 := .venv-spark40
VENV_SPARK35 := .venv-spark35
VENV_DEMO := .venv-demo
VENV_LOWEST := .venv-lowest
VENV_DOCS := .venv-docs
BIN := $(VENV)/bin
CARGO ?= cargo
PYTEST_ARGS ?=

# Stamps record what a finished step was made from, so that a second run of any target is quick.
DEV := $(VENV)/.stamp-dev
WHEEL_STAMP := target/wheels/.stamp
INSTALLED := $(VENV)/.stamp-wheel
INSTALLED_SPARK40 := $(VENV_SPARK40)/.stamp-wheel
INSTALLED_SPARK35 := $(VENV_SPARK35)/.stamp-wheel
INSTALLED_DEMO := $(VENV_DEMO)/.stamp-wheel
INSTALLED_DOCS := $(VENV_DOCS)/.stamp-wheel

# The crates that are published; each depends only on those before it.
CRATES := kafkacomp-records kafkacomp-log kafkacomp-broker kafkacomp-arrow kafkacomp-schemas kafkacomp-internal
RUST_SOURCES := Cargo.toml Cargo.lock $(shell find $(addprefix rust/,$(CRATES)) rust/kafkacomp-python -name '*.rs' -o -name Cargo.toml -o -path '*/schemas/*.json')
PYTHON_SOURCES := pyproject.toml README.md LICENSE THIRD-PARTY-NOTICES.txt kafkacomp.cyclonedx.json $(shell find python -type f -not -name '*.so' -not -path '*/__pycache__/*')

# One interpreter for every cargo call: a change of it would compile pyo3 and all that stands on it anew.
export PYO3_PYTHON := $(abspath $(BIN)/python)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup develop build wheel sdist demo first-example docs test-site pictures test test-all test-rust test-files test-spark test-spark40 \
	test-spark35 test-lowest test-kafka release-check notices lint lint-rust lint-crates lint-layers lint-outside lint-python lint-house lint-workflows lint-notices lint-deny fmt check bench regression lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ---------------------------------------------------------------------------------------------- environments
# make-venv: folder, lock. Plain pip installs uv by its hash, uv the rest: seconds instead of a minute.
define make-venv
	test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
	$(1)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bootstrap.txt
	$(1)/bin/uv pip sync --quiet --python $(1)/bin/python --require-hashes requirements/bootstrap.txt $(2)
endef

$(DEV): requirements/dev.txt requirements/bootstrap.txt
	$(call make-venv,$(VENV),requirements/dev.txt)
	rm -f $(INSTALLED)
	touch $@

$(VENV_SPARK40)/.stamp-dev: requirements/spark40.txt requirements/bootstrap.txt
	$(call make-venv,$(VENV_SPARK40),requirements/spark40.txt)
	rm -f $(INSTALLED_SPARK40)
	touch $@

$(VENV_SPARK35)/.stamp-dev: requirements/spark35.txt requirements/bootstrap.txt
	$(call make-venv,$(VENV_SPARK35),requirements/spark35.txt)
	rm -f $(INSTALLED_SPARK35)
	touch $@

$(VENV_DEMO)/.stamp-dev: requirements/demo.txt requirements/bootstrap.txt
	$(call make-venv,$(VENV_DEMO),requirements/demo.txt)
	rm -f $(INSTALLED_DEMO)
	touch $@

$(VENV_DOCS)/.stamp-dev: requirements/docs.txt requirements/bootstrap.txt
	$(call make-venv,$(VENV_DOCS),requirements/docs.txt)
	rm -f $(INSTALLED_DOCS)
	touch $@

setup: $(DEV) ## Make .venv from the locked requirements

# ---------------------------------------------------------------------------------------------- building
develop: $(DEV) ## Build the extension in place (release mode) and install the package editable into .venv
	rm -f $(INSTALLED)
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release --uv

# Without symbols, as the wheels that CI publishes: 2 MB less; a panic still tells its file and line.
$(WHEEL_STAMP): $(DEV) $(RUST_SOURCES) $(PYTHON_SOURCES)
	rm -rf target/wheels
	$(BIN)/maturin build --release --strip --interpreter $(BIN)/python --out target/wheels
	touch $@

wheel: $(WHEEL_STAMP) ## Build the release wheel into target/wheels
	@ls target/wheels/*.whl

# install-wheel: folder. An extension that `make develop` left in the source tree would not be used, but might confuse.
define install-wheel
	$(BIN)/uv pip install --quiet --python $(1)/bin/python --no-deps --reinstall target/wheels/*.whl
endef

$(INSTALLED): $(WHEEL_STAMP)
	$(call install-wheel,$(VENV))
	touch $@

$(INSTALLED_SPARK40): $(WHEEL_STAMP) $(VENV_SPARK40)/.stamp-dev
	$(call install-wheel,$(VENV_SPARK40))
	touch $@

$(INSTALLED_SPARK35): $(WHEEL_STAMP) $(VENV_SPARK35)/.stamp-dev
	$(call install-wheel,$(VENV_SPARK35))
	touch $@

$(INSTALLED_DEMO): $(WHEEL_STAMP) $(VENV_DEMO)/.stamp-dev
	$(call install-wheel,$(VENV_DEMO))
	touch $@

$(INSTALLED_DOCS): $(WHEEL_STAMP) $(VENV_DOCS)/.stamp-dev
	$(call install-wheel,$(VENV_DOCS))
	touch $@

build: $(INSTALLED) ## Build the release wheel and install it into .venv

# tar -m: cargo would take sources with the old times of the archive for built. The compiled dependencies are those of the wheel.
sdist: $(DEV) ## Build the source distribution, unpack it and build a wheel from it
	rm -rf target/sdist
	$(BIN)/maturin sdist --out target/sdist
	mkdir target/sdist/unpacked
	tar -xmzf target/sdist/*.tar.gz -C target/sdist/unpacked --strip-components 1
	cd target/sdist/unpacked && CARGO_TARGET_DIR=$(abspath target) $(abspath $(BIN))/maturin build --release \
		--interpreter $(abspath $(BIN))/python --out $(abspath target/sdist)

demo: $(INSTALLED_DEMO) ## Read segments of real brokers with PySpark, in a venv that has only the wheel and Spark
	PYSPARK_PYTHON=$(abspath $(VENV_DEMO)/bin/python) SPARK_LOCAL_IP=127.0.0.1 $(VENV_DEMO)/bin/python examples/demo.py

first-example: $(WHEEL_STAMP) ## Install the wheel in a new environment and run README's first example; prints the time
	$(BIN)/python tools/first_example.py target/wheels/*.whl

# Needs no network. The notice of MkDocs-Material is about the next version of MkDocs, which requirements/docs.in excludes.
docs: $(INSTALLED_DOCS) ## Build the documentation site into target/site; a warning or a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(VENV_DOCS)/bin/mkdocs build --strict --quiet
	$(VENV_DOCS)/bin/python tools/docs_site/check_site.py target/site

test-site: docs $(INSTALLED) ## The search of the built site, in the browser that CHROMIUM names
	CHROMIUM=$${CHROMIUM:?names no browser} SITE=target/site $(BIN)/python -m pytest tests/test_site.py $(PYTEST_ARGS)

pictures: $(INSTALLED) ## Redraw the pictures of README.md and docs/
	$(BIN)/python tools/docs_site/pictures.py

# ---------------------------------------------------------------------------------------------- tests
# Two runs at a time, the longest first: most tests use one core. What a run prints comes when it ends.
test: $(INSTALLED) $(INSTALLED_SPARK40) $(INSTALLED_SPARK35) ## All tests that fit half an hour on two cores
	$(MAKE) --no-print-directory --jobs=2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) test-files test-spark test-kafka test-spark40 test-spark35 test-rust

test-all: test-rust $(INSTALLED) test-spark40 test-spark35 ## All tests, the long ones too
	$(CARGO) test --release --locked --workspace --exclude kafkacomp-python -- --ignored
	$(BIN)/python -m pytest tests $(PYTEST_ARGS)

# The binding crate has no Rust tests: it is tested from Python, as the wheel that users get.
test-rust: $(DEV) ## Rust's tests
	$(CARGO) test --release --locked --workspace --exclude kafkacomp-python
	$(CARGO) test --release --locked -p kafkacomp-records --no-default-features --features pure-rust --test features
	$(CARGO) test --release --locked -p kafkacomp-records --no-default-features --test features

test-files: $(INSTALLED) ## Only the Python tests outside tests/spark and tests/kafka
	$(BIN)/python -m pytest tests -m "not slow" --ignore tests/spark --ignore tests/kafka $(PYTEST_ARGS)

test-spark: $(INSTALLED) ## Only the Spark tests, on the newest PySpark
	$(BIN)/python -m pytest tests/spark -m "not slow" $(PYTEST_ARGS)

test-spark40: $(INSTALLED_SPARK40) ## Only the Spark tests, on PySpark 4.0
	$(VENV_SPARK40)/bin/python -m pytest tests/spark -m "not slow" $(PYTEST_ARGS)

# PySpark 3.5 has no data sources in Python.
test-spark35: $(INSTALLED_SPARK35) ## Only the tests of the functions on columns, on PySpark 3.5
	$(VENV_SPARK35)/bin/python -m pytest tests/spark/test_functions*.py -m "not slow" $(PYTEST_ARGS)

# Direct dependencies at the lower bounds of pyproject.toml; then what only tests need, at any version that goes with them.
# The lower bound of pyspark has an environment of its own: `make test-spark35`.
LOWEST := $(BIN)/uv pip install --quiet --python $(VENV_LOWEST)/bin/python
test-lowest: $(WHEEL_STAMP) ## Tests of the extras at the lower bounds of their dependencies
	test -x $(VENV_LOWEST)/bin/python || $(PYTHON) -m venv $(VENV_LOWEST)
	$(LOWEST) --resolution lowest-direct -r pyproject.toml --extra arrow --extra cli --extra remote --extra report
	$(LOWEST) --reinstall --no-deps target/wheels/*.whl
	$(LOWEST) -r requirements/lowest.in
	$(VENV_LOWEST)/bin/python -m pytest $(PYTEST_ARGS) tests/test_advise_html.py tests/test_cells.py tests/test_cli.py \
		tests/test_object_stores.py tests/test_read_batches.py tests/test_rewrite_command.py tests/test_scan_reader.py tests/test_write.py

test-kafka: $(INSTALLED) ## Only the tests against a live broker
	$(BIN)/python -m pytest tests/kafka -m "not slow" $(PYTEST_ARGS)

# ---------------------------------------------------------------------------------------------- lints
lint: lint-rust lint-crates lint-layers lint-outside lint-python lint-house lint-workflows lint-notices ## Formatting, clippy, ruff, mypy, stubs, house rules, workflows, notices

lint-rust: $(DEV)
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --locked --workspace --all-targets -- -D warnings
	$(CARGO) clippy --release --locked -p kafkacomp-arrow -p kafkacomp-broker -p kafkacomp-internal --no-default-features --features pure-rust -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --release --locked --no-deps --features kafkacomp-log/tiered $(addprefix -p ,$(CRATES))

# The borders of the crates: each builds by itself, without the features that the crates above it need.
# refuse-below: crate, what must not be below it.
define refuse-below
	@! $(CARGO) tree --locked -p $(1) --all-features --edges normal,build --prefix none --no-dedupe | grep -E '^($(2))' | sort -u | grep . \
		|| { echo "$(1) must not need these"; exit 1; }
endef

# The target whose standard library needs no C compiler either.
MUSL := x86_64-unknown-linux-musl

lint-crates: $(DEV)
	for crate in $(CRATES); do $(CARGO) check --release --locked -p $$crate || exit 1; done
	for codec in "" gzip snappy lz4 zstd; do \
		$(CARGO) check --release --locked -p kafkacomp-log -p kafkacomp-broker --no-default-features --features "$$codec" || exit 1; done
	@if test -d "$$(rustc --print target-libdir --target $(MUSL))"; \
		then CC=false AR=false CARGO_TARGET_DIR=target/musl $(CARGO) check --locked --target $(MUSL) -p kafkacomp-log -p kafkacomp-broker \
			--no-default-features --features pure-rust; \
		else echo "skipped: $(MUSL) without a C compiler: rustup target add $(MUSL)"; fi
	@echo "what kafkacomp-records stands on:"
	@$(CARGO) tree --locked -p kafkacomp-records --edges normal,build --prefix none --no-dedupe | sort -u
	$(call refuse-below,kafkacomp-records,pyo3|arrow|python3-dll|kafkacomp-(log|broker|arrow))
	$(call refuse-below,kafkacomp-log,pyo3|arrow|python3-dll|kafkacomp-(broker|arrow))
	$(call refuse-below,kafkacomp-broker,pyo3|arrow|python3-dll|kafkacomp-(log|arrow))
	$(call refuse-below,kafkacomp-arrow,pyo3|python3-dll|kafkacomp-(broker|schemas|internal))
	$(call refuse-below,kafkacomp-internal,pyo3|python3-dll|kafkacomp-broker)
	$(call refuse-below,kafkacomp-schemas,pyo3|arrow|python3-dll|kafkacomp-(records|log|broker|arrow))

# The crates outside the workspace. The fuzz targets need nightly to run, not to compile.
lint-outside: $(DEV)
	$(CARGO) fmt --manifest-path rust/fuzz/Cargo.toml --check
	$(CARGO) fmt --manifest-path benches/kafka-protocol/Cargo.toml --check
	$(CARGO) clippy --release --locked --manifest-path rust/fuzz/Cargo.toml --target-dir target -- -D warnings
	$(CARGO) clippy --release --locked --manifest-path benches/kafka-protocol/Cargo.toml --target-dir target -- -D warnings

lint-python: $(INSTALLED)
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/pylint python/kafkacomp
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy python
	$(BIN)/mypy tests --exclude '^tests/kafka/'
	MYPYPATH=tests/kafka $(BIN)/mypy tests/kafka tools
	$(BIN)/python tools/check_types.py
	$(BIN)/python -m mypy.stubtest kafkacomp._kafkacomp --mypy-config-file pyproject.toml \
		--allowlist tools/stubtest-allowlist.txt

lint-house: $(DEV)
	$(BIN)/python tools/check_house.py

# No circle of imports between modules, and no layer of kafkacomp-records that imports one above it.
lint-layers: $(DEV)
	$(BIN)/python tools/check_layers.py
	$(BIN)/python tools/check_judging.py

lint-workflows: $(DEV)
	$(BIN)/zizmor --offline --quiet .github/workflows

lint-notices: $(DEV)
	$(BIN)/python tools/third_party.py --check

lint-deny: ## Licences, bans and sources of the crates; needs cargo-deny
	$(CARGO) deny --locked --all-features check bans licenses sources

fmt: $(DEV) ## Format Rust and Python, and let ruff fix what it can
	$(CARGO) fmt --all
	$(CARGO) fmt --manifest-path rust/fuzz/Cargo.toml
	$(BIN)/ruff check --fix --exit-zero
	$(BIN)/ruff format

check: lint test ## What CI runs: the lints, then the tests

# ---------------------------------------------------------------------------------------------- the rest
bench: $(INSTALLED) ## All benchmarks and comparisons; the report with ratios goes to benches/results/report.md
	$(CARGO) bench --locked --workspace --exclude kafkacomp-python
	$(BIN)/python -m pytest benches --benchmark-only --benchmark-json=build/bench/pytest.json $(PYTEST_ARGS)
	$(BIN)/python benches/compare_java.py
	$(BIN)/python benches/compare_limits.py
	$(BIN)/python benches/compare_build.py
	$(BIN)/python benches/compare_validate.py
	$(BIN)/python benches/compare_peers.py
	$(BIN)/python benches/compare_streams.py
	$(BIN)/python benches/compare_message_set.py
	$(BIN)/python benches/compare_cells.py
	$(BIN)/python benches/compare_connector.py
	$(BIN)/python benches/compare_write.py
	$(BIN)/python benches/compare_rewrite.py
	$(CARGO) run --release --locked --manifest-path benches/kafka-protocol/Cargo.toml --target-dir target/kafka-protocol -- \
		5 build/bench/flights-*-1-0/*.log build/bench/flights-*-16k-0/*.log > benches/results/kafka-protocol.jsonl
	$(BIN)/python benches/write_report.py

# For instance: make regression BASE=v0.1.0 REGRESSION_ARGS=--count
BASE ?= main
regression: $(INSTALLED) ## Is the working tree slower than BASE? By paired ratios, or by instructions with --count
	$(BIN)/python benches/compare_commits.py $(BASE) . $(REGRESSION_ARGS)

# Nothing is published: the wheels workflow does that for a tag, after the same checks. With TAG=vX.Y.Z as for that tag.
release-check: sdist lint-deny lint-notices ## Whether a release can be made: version and changelog, sdist, metadata, crates, licences, notices
	$(BIN)/python tools/check_release.py target/sdist $(if $(TAG),--tag $(TAG))
	$(BIN)/twine check --strict target/sdist/*.tar.gz target/sdist/*.whl
	$(CARGO) package --locked --allow-dirty $(addprefix -p ,$(CRATES))
	$(BIN)/python tools/packed_crates.py target/package

notices: $(DEV) ## Renew the third-party notices and the SBOM after a change of Cargo.lock
	$(BIN)/python tools/third_party.py

# Locks name neither an index nor a path: what is fetched is decided by its hash alone.
LOCK := $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"

lock: $(DEV) ## Renew the locked requirements from requirements/*.in
	$(LOCK) requirements/bootstrap.in -o requirements/bootstrap.txt
	$(LOCK) requirements/dev.in -o requirements/dev.txt
	$(LOCK) requirements/spark40.in -o requirements/spark40.txt
	$(LOCK) requirements/spark35.in -o requirements/spark35.txt
	$(LOCK) requirements/demo.in -o requirements/demo.txt
	$(LOCK) requirements/docs.in -o requirements/docs.txt

clean: ## Remove the environments and everything built, the compiled crates too
	rm -rf $(VENV) $(VENV_SPARK40) $(VENV_SPARK35) $(VENV_DEMO) $(VENV_LOWEST) $(VENV_DOCS) target dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find python tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
	find python -name '_kafkacomp*.so' -delete
