# One command for each thing a developer does; continuous integration calls these and nothing else.
# Works with GNU make 3.81 (macOS) and later, and on Windows from a POSIX shell such as Git Bash.

PYTHON ?= python3
# Extra parts of the distribution to install: torch (networks on a GPU), see pyproject.toml.
EXTRAS ?=
ARGS ?=
# Of `make fuzz` and `make soak`.
MINUTES ?= 5
HOURS ?= 1

# Tests start Python hundreds of times; without compiled modules those of controllers take 54 s in place of 44 to 46.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Packages are installed by their hashes, hatchling among them, which builds Keima; torch and ray, whose builds differ
# between machines, by the versions in constraints.txt.
HASHED := $(PIP) --require-hashes --requirement requirements
INSTALL := $(PIP) --constraint constraints.txt --no-build-isolation --editable
INSTALLED := $(VENV)/installed$(if $(EXTRAS),-$(EXTRAS))
PYTEST := $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help install run test test-nojit test-bounds test-golden test-scores test-cleanup test-slow test-shapes test-random-nets test-kill test-gpu test-arm test-wheel test-binary test-browser pictures lint perft bench bench-train bench-gpu bench-quality ablation ablate-loop gpu-session match solve stress soak load fuzz clients regress packages binary archive sbom lock clean

help: ## print each target with one line
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { gsub(/\$$\$$/, "$$", $$2); printf "%-12s %s\n", $$1, $$2 }' Makefile

install: $(INSTALLED) ## make .venv and install keima with its pinned dependencies

run: $(INSTALLED) ## start the engine: GTP on stdin and stdout (options in ARGS="--visits 100")
	@exec $(BIN)/keima $(ARGS)

test: $(VENV)/installed-dev ## run the tests, in a process for each core (some of them: make test ARGS=tests/board)
	@$(PYTEST) -n auto --dist worksteal $(ARGS)

test-slow: $(VENV)/installed-dev ## run the tests that take longest: whole runs of training, many games, the installed wheel
	@$(PYTEST) -m slow --timeout=1800 $(ARGS)

test-shapes: $(VENV)/installed-dev ## compute networks of the shapes that people use by every backend and by $$KEIMA_KATAGO, and print the differences
	@$(PYTEST) -rs -s -m shapes tests/nets/test_shapes.py $(ARGS)

test-random-nets: $(VENV)/installed-dev ## compute 10,000 networks of random architectures by the kernels, between canaries, beside torch (ARGS="--count 100")
	@$(BIN)/python -m tests.nets.kernels.random_networks $(ARGS)

test-kill: $(VENV)/installed-dev ## kill train, selfplay, zero, match, solve, book and tune 20 times each: the same results (ARGS="zero --kills 5")
	@$(BIN)/python -m tests.kill $(ARGS)

test-gpu: $(VENV)/installed-dev ## on a machine with a GPU: compare what it computes with the CPU, kernels by Triton and recorded batches
	@$(PYTEST) -n 0 tests/nets/torch_modules/test_triton_kernels.py tests/nets/torch_modules/test_triton_products.py tests/evaluators/test_torch_gpu.py $(ARGS)

test-arm: $(VENV)/installed-dev ## run tests as they run on ARM64, under qemu-user, on Debian or Ubuntu (ARGS=tests/native)
	@tests/arm64.sh $(ARGS)

test-nojit: $(VENV)/installed-dev ## run the board tests with the kernels as plain Python
	@NUMBA_DISABLE_JIT=1 $(PYTEST) --timeout=900 tests/board $(ARGS)

test-bounds: $(VENV)/installed-dev ## run the tests of all kernels with every array index checked
	@NUMBA_BOUNDSCHECK=1 $(PYTEST) --timeout=1800 $(or $(ARGS),tests/board tests/search tests/encoders tests/nets tests/evaluators tests/players tests/apps/solve)

test-golden: $(VENV)/installed-dev ## check every file of golden records in $$KEIMA_SHARED/golden
	@$(BIN)/python -m tests.golden $(ARGS)

test-scores: $(VENV)/installed-dev ## compare scores and dead stones of finished games: ENGINE="keima --net FILE" ARGS='--second "katago gtp ..."'
	@$(BIN)/python -m tests.scores $(ARGS) -- $(or $(ENGINE),$(BIN)/keima)

test-cleanup: $(VENV)/installed-dev ## take dead stones off finished games by kgs-genmove_cleanup: ENGINE="keima --net FILE --visits 100"
	@$(BIN)/python -m tests.scores.cleanup $(ARGS) -- $(or $(ENGINE),$(BIN)/keima)

test-wheel: $(VENV)/installed-dev ## install the wheel beside foreign packages of the same names, and use it
	@$(PYTEST) -rs -m "slow or not slow" --timeout=900 tests/test_distribution.py $(ARGS)

test-binary: $(VENV)/installed-dev ## play a game with the program that `make binary` built
	@$(PYTEST) -rs -m binary tests/binary $(ARGS)

test-browser: $(VENV)/installed-dev ## try the page of `keima web` in Chromium: needs pip install playwright axe-playwright-python
	@$(PYTEST) -rs -m browser tests/browser $(ARGS)

pictures: $(VENV)/installed-dev ## take the pictures of the page in docs/pictures, in Chromium: needs pip install playwright
	@$(BIN)/python -m tests.browser.pictures $(ARGS)

lint: $(VENV)/installed-dev ## check style, layout, types and pages: ruff, mypy, links and commands
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python .ci/check_pages.py

perft: $(VENV)/installed-dev ## count legal positions, compare random games with the naive board
	@$(BIN)/python -m tests.perft $(ARGS)

bench: $(INSTALLED) ## measure start-up, playouts, evaluations and visits (ARGS="--size 19 --json")
	@$(BIN)/keima bench $(ARGS)

bench-train: $(VENV)/installed-dev ## measure `keima train` beside a plain PyTorch loop of the same network, batch and optimizer (ARGS="--size 9")
	@$(BIN)/python -m tests.train_speed $(ARGS)

bench-gpu: $(VENV)/installed-dev ## measure networks of the usual shapes on a GPU: evaluations by batch, share of its peak, visits (ARGS="--out FILE.json --shape b18c384nbt")
	@$(BIN)/python -m tests.gpu_bench $(ARGS)

bench-quality: $(INSTALLED) ## judge the search's moves by deep searches, for hours (ARGS="--size 9 --visits 200 --compare batch_size=8")
	@$(BIN)/keima bench --quality --out build/quality $(ARGS)

ablation: $(VENV)/installed-dev ## play the search against itself without each of its parts: ARGS='--net FILE --games 200'
	@$(BIN)/python -m tests.ablation $(ARGS)

ablate-loop: $(VENV)/installed-dev ## train from nothing with and without each option of the loop at equal processor time: ARGS='OUT --minutes 10 --seeds 3'
	@OMP_NUM_THREADS=1 $(BIN)/python -m tests.train_ablation $(ARGS)

gpu-session: $(VENV)/installed-dev ## on a machine with a GPU lent for a while: measure, then learn from nothing until the time is over: ARGS='OUT --minutes 45'
	@$(BIN)/python -m tests.gpu_session $(ARGS)

match: $(INSTALLED) ## play two GTP programs: ARGS='--black CMD --white CMD --games N --size 9'
	@$(BIN)/keima match $(ARGS)

solve: $(VENV)/installed-for-plots ## solve problems with known answers: ARGS='FILE.jsonl.gz --net FILE --out DIR'
	@$(BIN)/keima solve $(ARGS)

soak: $(VENV)/installed-dev ## play as a KGS bot for HOURS=1, memory, threads, files and reply times recorded (ENGINE="keima --net FILE --ponder")
	@$(BIN)/python -m tests.soak --hours $(HOURS) $(ARGS) -- $(or $(ENGINE),$(BIN)/keima --visits 30 --ponder)

load: $(VENV)/installed-dev ## 50 clients at once at `keima analysis --listen` and `keima gtp --listen`: what is lost, times, memory (ARGS="--clients 20")
	@$(BIN)/python -m tests.load analysis $(ARGS) -- --visits 20
	@$(BIN)/python -m tests.load gtp $(ARGS) -- --visits 20

fuzz: $(VENV)/installed-dev ## feed hostile input to GTP, JSON, SGF, networks, kernels, the page and --listen for MINUTES=5 (ARGS="--seed 7 gtp sgf")
	@$(BIN)/python -m tests.fuzz --minutes $(MINUTES) $(ARGS)

stress: $(VENV)/installed-dev ## stop analysis and pondering at random moments (ARGS="--cycles 500", ENGINE="keima --net FILE")
	@$(BIN)/python -m tests.conformity.stress $(ARGS) -- $(or $(ENGINE),$(BIN)/keima)

clients: $(VENV)/installed-dev ## play through GoGui, CGOS, Sabaki's driver and KaTrain's, compare with KataGo, where they are installed
	@$(PYTEST) -rs -m clients --timeout=1800 tests/clients $(ARGS)

regress: $(VENV)/installed-dev ## run GNU Go's and Pachi's suites by gogui-regress (ARGS="9x9 seki", ENGINE="keima --net FILE --visits 50")
	@$(BIN)/python -m tests.clients.regress --engine "$(or $(ENGINE),$(BIN)/keima --visits 100)" $(ARGS)

packages: $(INSTALLED) ## build the wheel and the sdist in dist/
	@$(BIN)/python -m hatchling build -d dist

binary: $(VENV)/installed-binary ## build the program that needs no Python: dist/keima/keima
	@rm -rf build/kernels
	@$(BIN)/python .ci/compile_kernels.py $(BIN)/keima build/kernels
	@$(BIN)/python -m PyInstaller --noconfirm --distpath dist --workpath build .ci/keima.spec

archive: $(VENV)/installed-binary ## pack what `make binary` built for others: dist/keima-VERSION-SYSTEM-MACHINE.tar.xz, .zip on Windows
	@$(BIN)/python .ci/archive.py

sbom: $(INSTALLED) ## list what an installed Keima consists of: dist/keima.cdx.json (CycloneDX)
	@{ $(HASHED)/sbom.txt; } >&2
	@mkdir -p dist
	@$(BIN)/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible --output-file dist/keima.cdx.json requirements/keima.txt

lock: ## write requirements/ anew for the versions in constraints.txt; needs uv
	@.ci/lock

clean: ## remove .venv and everything built
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Installing speaks on stderr only: in `make run`, stdout is the GTP channel.

$(VENV)/made:
	@command -v $(PYTHON) >/dev/null || { echo "keima needs Python 3.11 to 3.14; $(PYTHON) was not found (make PYTHON=...)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' || { echo "keima needs Python 3.11 to 3.14; $(PYTHON) is $$($(PYTHON) --version 2>&1) (make PYTHON=...)" >&2; exit 1; }
	@echo "keima: creating $(VENV)" >&2
	@$(PYTHON) -m venv $(VENV) >&2
	@touch $@

$(INSTALLED): $(VENV)/made pyproject.toml constraints.txt requirements/keima.txt
	@echo "keima: installing into $(VENV)" >&2
	@{ $(HASHED)/keima.txt --requirement requirements/build.txt && $(INSTALL) '.$(if $(EXTRAS),[$(EXTRAS)])'; } >&2
	@touch $@

$(VENV)/installed-dev: $(INSTALLED)
	@echo "keima: installing the developer's tools into $(VENV)" >&2
	@{ $(HASHED)/dev.txt && $(INSTALL) '.[dev]'; } >&2
	@touch $@

$(VENV)/installed-for-plots: $(INSTALLED)
	@echo "keima: installing matplotlib into $(VENV)" >&2
	@{ $(INSTALL) '.[plot]'; } >&2
	@touch $@

$(VENV)/installed-binary: $(INSTALLED)
	@echo "keima: installing PyInstaller into $(VENV)" >&2
	@{ $(HASHED)/binary.txt && $(INSTALL) '.[binary]'; } >&2
	@touch $@
