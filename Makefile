# moriens: build, demo, test, check. `make help` lists the targets.

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
COMMIT  := $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
BUF     := npx --yes @bufbuild/buf@1.75.0
NEED    := deploy/debian/need
PREFIX   ?= /usr/local
JOBS     = $(if $(filter -j%,$(MAKEFLAGS)),,-j $(shell nproc)) # as many as there are cores, unless make was told

.DEFAULT_GOAL := build

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.PHONY: build
build: moriens shim ## bin/moriens and bin/libmoriens.so

.PHONY: moriens
moriens:
	@$(NEED) build
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)' -o bin/moriens ./cmd/moriens

.PHONY: shim
shim:
	@$(NEED) build
	@$(MAKE) --no-print-directory $(JOBS) -C cshim

.PHONY: install
install: build ## put moriens, its library and moriens.h below PREFIX (/usr/local)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib $(DESTDIR)$(PREFIX)/include
	install -m 755 bin/moriens $(DESTDIR)$(PREFIX)/bin
	install -m 755 bin/libmoriens.so $(DESTDIR)$(PREFIX)/lib
	install -m 644 cshim/include/moriens.h cshim/include/moriens.F90 $(DESTDIR)$(PREFIX)/include

.PHONY: demo
demo: ## measure LAMMPS on two ranks and show what came of it
	@$(NEED) demo
	@$(MAKE) --no-print-directory build
	@testdata/lammps/demo

.PHONY: test
test: ## every test, real MPI included
	@$(NEED) test
	@$(MAKE) --no-print-directory build
	go test -p 1 -timeout 30m ./...

.PHONY: check
check: ## the gate: format, vet, lint, generated code, sanitizers, fuzzing, tests
	@$(NEED) check
	test -z "$$(gofmt -l agent analysis cmd collector cshim deploy internal proto trace | tee /dev/stderr)"
	go vet ./...
	go tool staticcheck ./...
	$(BUF) lint
	@$(MAKE) --no-print-directory check-generated
	@$(MAKE) --no-print-directory $(JOBS) -C cshim asan tsan analyze
	@$(MAKE) --no-print-directory fuzz FUZZ=10s
	go test -race $$(go list ./agent/... ./collector/... ./analysis/... ./internal/... | grep -v /internal/faults) # which tests programs, not itself
	@$(MAKE) --no-print-directory test

FUZZ = 150s
FUZZING = -fuzztime $(FUZZ) -fuzzminimizetime 2s

.PHONY: fuzz
fuzz: ## fuzz whatever reads bytes from outside: shared memory, files, messages; for FUZZ=150s each
	go test ./agent/ring -run '^$$' -fuzz FuzzRing $(FUZZING)
	go test ./agent/ring -run '^$$' -fuzz FuzzProcess $(FUZZING)
	go test ./agent/message -run '^$$' -fuzz FuzzRestore $(FUZZING)
	go test ./agent/spool -run '^$$' -fuzz FuzzOutbox $(FUZZING)
	go test ./agent/window -run '^$$' -fuzz FuzzFiles $(FUZZING)
	go test ./internal/segment -run '^$$' -fuzz FuzzOpen $(FUZZING)
	go test ./collector/journal -run '^$$' -fuzz FuzzJournal $(FUZZING)
	go test ./internal/points -run '^$$' -fuzz FuzzRead $(FUZZING)
	go test ./internal/rendezvous -run '^$$' -fuzz FuzzRead $(FUZZING)
	go test ./collector/store -run '^$$' -fuzz FuzzApply $(FUZZING)

.PHONY: bench-shim
bench-shim: ## what the library adds to MPI calls, under both MPIs (minutes)
	@$(NEED) test
	@$(MAKE) --no-print-directory build
	go run ./cshim/bench

.PHONY: bench-app
bench-app: ## how much slower LAMMPS and a halo exchange are under moriens (minutes)
	@$(NEED) test
	@$(MAKE) --no-print-directory build
	go run ./internal/measure/bench

.PHONY: bench-ingest
bench-ingest: moriens ## how many bursts a collector takes, from the streams of 1, 100 and 1,000 nodes (minutes)
	go run ./internal/measure/load

BENCH_SUITE ?= ../shared/bench

.PHONY: bench-dbscan
bench-dbscan: moriens ## DBSCAN beside two prototypes, from BENCH_SUITE, on the same points, insertion, several Eps (minutes)
	go run ./analysis/dbscan/bench -suite $(BENCH_SUITE)

.PHONY: bench
bench: ## the Go benchmarks, in the form benchstat reads
	go test -run '^$$' -bench . -count 6 ./analysis/...

.PHONY: generate
generate: ## write generated code and pages anew
	go generate ./...
	$(BUF) generate

.PHONY: check-generated
check-generated:
	@before=$$(mktemp); trap 'rm -f '$$before EXIT; \
	git ls-files -z --cached --others --exclude-standard | xargs -0 sha256sum 2>/dev/null >$$before; \
	$(MAKE) --no-print-directory generate; \
	sha256sum --quiet --check $$before

.PHONY: clean
clean: ## remove what was built
	rm -rf bin build
