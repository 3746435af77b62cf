# tcudb: everything a person types. CMake and Ninja build underneath; `make help` lists the targets.

BUILD ?= build
JOBS  ?= $(shell nproc)
SHELL := /bin/bash

.PHONY: all demo test lint bench install uninstall asan tsan fuzz crash gpu-test gpu-bench deps deps-test format clean help

all: deps ## build tcudb, libtcudb.so and, with a CUDA toolkit, libtcudb_cuda.so
	@cmake -S . -B $(BUILD) -G Ninja -DCMAKE_MESSAGE_LOG_LEVEL=WARNING >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)

demo: all ## generate and load the star schema at scale 1, answer its queries and the paper's
	@$(BUILD)/tcudb demo

test: deps-test all ## build and run every test; ends in "N passed, N failed, N skipped"
	@test/fuzz/build
	@test/run $(BUILD)

lint: deps-test all ## layers, sizes, formatting, clang-tidy, exported symbols
	@tool/lint $(BUILD)

bench: deps-test all ## the star schema benchmark against DuckDB, and the other benches
	@bench/run $(BUILD)

install: all ## install programs, library, headers (DESTDIR and PREFIX are honoured)
	@cmake --install $(BUILD) $(if $(PREFIX),--prefix $(PREFIX))

uninstall: ## remove what the last make install put there (the same DESTDIR)
	@[ -e $(BUILD)/install_manifest.txt ] || { echo "nothing was installed from $(BUILD)"; exit 1; }
	@sed "s|^|$(DESTDIR)|" $(BUILD)/install_manifest.txt | xargs -d '\n' rm -fv

asan: deps-test ## the tests under AddressSanitizer and UBSan
	@cmake -S . -B build-asan -G Ninja -DTCUDB_SANITIZE=address,undefined >/dev/null
	@cmake --build build-asan -j $(JOBS)
	@test/run build-asan

tsan: deps-test ## the tests under ThreadSanitizer
	@cmake -S . -B build-tsan -G Ninja -DTCUDB_SANITIZE=thread >/dev/null
	@cmake --build build-tsan -j $(JOBS)
	@test/run build-tsan

fuzz: deps-test ## the fuzz targets, SECONDS each (default 60)
	@test/fuzz/run $(or $(SECONDS_EACH),60)

crash: deps-test all ## 2,400 times kill -9 at a random moment, and look what is left
	@$(BUILD)/test/crash 2000 $(or $(SEED),1)
	@BUILD=$(BUILD) test/crash/sql_crash.py 400 $(or $(SEED),1)

gpu-test: all ## the GPU's list decoders and operations against the CPU's; exit status 77 without a GPU
	@bench/gpu test $(BUILD)

gpu-bench: all ## the same measured beside the memory's limit; figures into doc/gpu-lists.svg
	@bench/gpu bench $(BUILD)

format: ## clang-format every source in place
	@git ls-files '*.c' '*.h' | xargs clang-format-14 -i

deps: ## install what building needs (Debian packages)
	@tool/deps build

deps-test:
	@tool/deps test

clean: ## remove what was built
	@rm -rf build build-*

help:
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 12
