# Everything a newcomer needs: `make demo` and `make test`. Nothing is installed outside this
# directory, but for the Debian packages that `make servers` adds as root.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
ENGINE := $(VENV)/bin/dyno-engine
STAMP := $(VENV)/.installed
# For two cores; live tests mostly wait: docs/decisions/tests-in-parallel.md.
TEST_WORKERS ?= 4
CHECK_WORKERS ?= 3
RUST_SOURCES := $(shell find engine -name '*.rs' -o -name Cargo.toml 2>/dev/null) Cargo.toml Cargo.lock

.PHONY: help demo test check lint audit fmt attack bench proof gallery gallery-measure pictures dist dist-test servers engine setup reference clean fuzz changelog

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: setup ## Set up, build, run the quickstart study, say where the report is
	$(VENV)/bin/dyno run quickstart --dir runs/quickstart-$$(date +%Y%m%d-%H%M%S)

# dyno starts hundreds of times: where bytecode is not kept, a quarter of each start compiles.
test check: export PYTHONDONTWRITEBYTECODE =
# Property tests try a quarter of their cases, as those of Python do (tests/conftest.py).
check: export PROPTEST_CASES = 64
# Threads of numpy's algebra would wait for each other where each core has a process of tests.
test check: export OPENBLAS_NUM_THREADS = 1

test: setup servers ## Set up servers, run every test
	cargo test --workspace --release --quiet
	$(PY) -m pytest -n $(TEST_WORKERS) --dist worksteal --durations 20

check: setup ## Unit, contract, golden and library tests in two minutes: no root, no server
	cargo test --workspace --release --quiet --lib --bins
	$(PY) -m pytest -q -n $(CHECK_WORKERS) --dist worksteal --hypothesis-profile check -m "not long" tests/unit tests/contract tests/golden

lint: setup audit ## Formatting, clippy, rustdoc, ruff, mypy, licences
	cargo fmt --all --check
	cargo fmt --check --manifest-path fuzz/Cargo.toml
	cargo clippy --release --workspace --all-targets --quiet -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --release --workspace --no-deps --quiet
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

audit: setup ## Licences and duplicates of what dbdyno is built of; vulnerabilities where cargo-audit and pip-audit are installed
	$(PY) tools/audit.py

fmt: setup ## Format everything
	cargo fmt --all
	cargo fmt --manifest-path fuzz/Cargo.toml
	$(VENV)/bin/ruff check --fix --quiet . || true
	$(VENV)/bin/ruff format .

proof: setup servers ## Put dbdyno's own promises to the test, write docs/proof.md (an hour; quiet machine)
	$(PY) -m tools.proof $(ROWS)

attack: setup ## Attack dbdyno with damaged files of others, write docs/attack.md (half an hour)
	$(PY) -m tools.attack $(if $(MOST),--most $(MOST)) $(ROWS)

bench: setup ## Hold the engine against its peers, both in one run
	$(PY) benches/bench.py

FUZZ_SECONDS ?= 60
FUZZ_SANITIZER ?= address
fuzz: ## Run fuzz targets for FUZZ_SECONDS each: all, or FUZZ_TARGETS (nightly Rust; cargo-fuzz is installed)
	@rustup run nightly rustc --version >/dev/null || { echo 'make fuzz needs a nightly compiler: rustup toolchain install nightly' >&2; exit 1; }
	@command -v cargo-fuzz >/dev/null || cargo install cargo-fuzz --locked
	for target in $${FUZZ_TARGETS:-$$(cargo +nightly fuzz list)}; do \
		mkdir -p fuzz/corpus/$$target && \
		cargo +nightly fuzz run --sanitizer $(FUZZ_SANITIZER) $$target fuzz/corpus/$$target $$(find fuzz/seeds -name $$target) -- \
			$$(find fuzz/dictionaries -name $$target.dict -printf '-dict=%p') -max_len=1024 -max_total_time=$(FUZZ_SECONDS) || exit 1; \
	done

gallery: setup ## Draw docs/articles/ again, from bundles of runs, models and digests: no server
	$(PY) -m tools.gallery

gallery-measure: setup servers ## Run the experiments of ROWS again (all of them: half an hour), draw docs/articles/
	$(PY) -m tools.gallery --measure $(ROWS)

pictures: setup ## Take the pictures of README from a real run (docs/pictures/)
	$(PY) tools/pictures.py

dist: setup ## Build what a release publishes into dist/: wheels of both halves, the static engine (20 minutes)
	$(PY) -m tools.dist

dist-test: setup ## Install what `make dist` built in clean environments and an image, without a compiler
	$(PY) -m pytest tools/dist

servers: ## Install the servers that tests need (as root: Debian packages; MySQL 9, MariaDB 11.8 and FerretDB in a private prefix)
	tools/servers

reference: setup ## Write docs/reference/ from the programs themselves
	$(PY) tools/reference.py
	$(PY) tools/model_pages.py

changelog: setup ## Join the fragments of changelog/ into CHANGELOG.md (at a release; removes them)
	$(PY) -m towncrier build --yes --version $$($(PY) -c 'import dbdyno; print(dbdyno.__version__)')

setup: $(STAMP) $(ENGINE)

engine: $(ENGINE)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("dbdyno needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

$(ENGINE): $(RUST_SOURCES) | $(STAMP)
	@command -v cargo >/dev/null || { echo 'dbdyno needs Rust (cargo 1.89 or newer); rustup installs it' >&2; exit 1; }
	cargo build --release --package dyno-engine --target-dir target
	ln -sf ../../target/release/dyno-engine $@

clean: ## Remove what was built
	rm -rf target $(VENV)
