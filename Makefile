# moriens: build, demo, test, check. `make help` lists the targets.

# That of the release, and the commit where git knows it: v0.1.0+g626d29b.
# A repository round a source archive is not that of moriens.
GIT     := GIT_CEILING_DIRECTORIES='$(CURDIR)/..' git
VERSION := $(shell cat VERSION)$(shell $(GIT) describe --always --dirty --abbrev=7 --exclude '*' 2>/dev/null | sed 's/^/+g/')
COMMIT  := $(shell $(GIT) rev-parse HEAD 2>/dev/null || echo unknown)
ifeq ($(strip $(shell cat VERSION)),)
$(error VERSION is missing or empty)
endif
BUF     := npx --yes @bufbuild/buf@1.75.0
NEED    := deploy/debian/need
PREFIX   ?= /usr/local
JOBS     = $(if $(filter -j%,$(MAKEFLAGS)),,-j $(shell nproc)) # as many as there are cores, unless make was given -j

.DEFAULT_GOAL := build

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.PHONY: build
build: moriens shim otf2 ## bin/moriens, bin/libmoriens.so and bin/libmoriens_tau.a, and bin/moriens-otf2 where libotf2 is

.PHONY: moriens
moriens:
	@$(NEED) build
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)' -o bin/moriens ./cmd/moriens

.PHONY: shim
shim:
	@$(NEED) build
	@$(MAKE) --no-print-directory $(JOBS) -C cshim

# moriens itself is linked to nothing, so what needs libotf2 is a program of its own.
OTF2_CFLAGS = $(shell otf2-config --cflags 2>/dev/null)
OTF2_LIBS   = $(shell otf2-config --ldflags 2>/dev/null)

.PHONY: otf2
otf2: ## bin/moriens-otf2, for moriens export --format otf2; needs libotf2-trace-dev
	@if echo '#include <otf2/otf2.h>' | gcc $(OTF2_CFLAGS) -E -x c - >/dev/null 2>&1; then \
		set -x; CGO_ENABLED=1 CGO_CFLAGS="-g -O2 $(OTF2_CFLAGS)" CGO_LDFLAGS="$(OTF2_LIBS)" \
		go build -tags otf2 -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/moriens-otf2 ./cmd/moriens-otf2; \
	else \
		echo 'moriens: no otf2.h: bin/moriens-otf2 is not built, and moriens export --format otf2 will not work' >&2; \
		echo 'hint: sudo apt-get install libotf2-trace-dev, then make otf2' >&2; \
	fi

# moriens as an MPI job. The flags keep what Go has built for one MPI library from being taken for the other: it does not know of
# those of pkg-config.
MPI_ENV = $(if $(filter mpich,$1),PKG_CONFIG_PATH="$(CURDIR)/internal/mpix/mpich:$$PKG_CONFIG_PATH") CGO_ENABLED=1 CGO_CFLAGS="-g -O2 $$(pkg-config --cflags $1)"
define build_mpi
	@if pkg-config --exists $1 2>/dev/null; then \
		set -x; $(call MPI_ENV,$1) \
		go build -tags mpi -trimpath -ldflags '-s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)' -o bin/$2 ./cmd/moriens; \
	else \
		echo 'moriens: no $3 that pkg-config knows: bin/$2 is not built' >&2; \
		echo 'hint: sudo apt-get install pkg-config $4, then make build-mpi' >&2; \
	fi
endef

.PHONY: build-mpi
build-mpi: ## bin/moriens-mpi and bin/moriens-mpi-mpich, moriens for mpirun: a run's collector as several processes; for the MPI libraries that are here
	@$(NEED) build
	$(call build_mpi,ompi,moriens-mpi,Open MPI,libopenmpi-dev)
	$(call build_mpi,mpich,moriens-mpi-mpich,MPICH,libmpich-dev)

# What the page is built and tested with. The page itself is committed, built, in viewer/dist: Go embeds it.
viewer/node_modules/.package-lock.json: viewer/package-lock.json
	cd viewer && npm ci --loglevel=error
	touch $@

.PHONY: viewer
viewer: viewer/node_modules/.package-lock.json ## viewer/dist, the page that moriens embeds; needs Node 20.19 or newer
	cd viewer && npm run --silent build

.PHONY: install
install: build ## put moriens, its libraries and headers below PREFIX (/usr/local)
	install -d "$(DESTDIR)$(PREFIX)/bin" "$(DESTDIR)$(PREFIX)/lib" "$(DESTDIR)$(PREFIX)/include/moriens/tau/Profile"
	install -m 755 bin/moriens "$(DESTDIR)$(PREFIX)/bin"
	for p in moriens-otf2 moriens-mpi moriens-mpi-mpich; do if [ -e bin/$$p ]; then install -m 755 bin/$$p "$(DESTDIR)$(PREFIX)/bin" || exit 1; fi; done
	install -m 755 bin/libmoriens.so "$(DESTDIR)$(PREFIX)/lib"
	install -m 644 bin/libmoriens_tau.a "$(DESTDIR)$(PREFIX)/lib"
	install -m 644 cshim/include/moriens.h cshim/include/moriens_tau.h cshim/include/moriens.F90 "$(DESTDIR)$(PREFIX)/include"
	install -m 644 cshim/include/moriens/tau/TAU.h "$(DESTDIR)$(PREFIX)/include/moriens/tau"
	install -m 644 cshim/include/moriens/tau/Profile/Profiler.h "$(DESTDIR)$(PREFIX)/include/moriens/tau/Profile"

.PHONY: demo
demo: ## measure LAMMPS on two ranks and print the summary
	@$(NEED) demo
	@$(MAKE) --no-print-directory build
	@testdata/lammps/demo

# What gofmt goes through.
GO_FOLDERS = agent analysis app bench cmd collector conclude cshim deploy internal proto trace viewer

# The packages that have tests. internal/layout holds this file's lists against the tree.
TESTED = $(shell go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./... | sed 's,^moriens/,,')
below  = $(addprefix ./,$1)

# Packages whose tests start programs, need root or wait for real time. All others are pure but for files named *_real_test.go.
REAL = app/doctor app/faults app/job app/measure app/supervise bench/agent bench/app bench/ingest bench/shim cmd/moriens cshim \
	deploy/modulefile deploy/slurm internal/mpix trace/otf2
# Of these, those that start MPI jobs: after the others, as many at a time as there are cores, the longest first. Launchers wait about half of the time.
STARTS_JOBS = cmd/moriens cshim internal/mpix bench/agent bench/app bench/ingest bench/shim
# And those that wait most of the time: they begin first, and take no core from the others.
WAITING = deploy/slurm app/faults app/measure

# STAGE(name,commands): a stage of a target, with the time that it took. It runs in one shell, which ends with the first command that fails.
define STAGE
	@echo '== $1'; begin=$$(date +%s); ( set -e; $2 ) || { echo "== $1: FAILED after $$(( $$(date +%s) - begin )) s" >&2; exit 1; }; echo "== $1: $$(( $$(date +%s) - begin )) s"
endef

# Without vet, which check does once for all.
.PHONY: test
test: ## every test, real MPI included
	@$(NEED) test
	@$(MAKE) --no-print-directory build
	$(call STAGE,tests beside each other,go test -vet=off -p $$(($$(nproc) + 2)) -parallel 8 -timeout 30m $(call below,$(WAITING) $(filter-out $(WAITING) $(STARTS_JOBS),$(TESTED))))
	$(call STAGE,tests that start MPI jobs,go test -vet=off -p $$(nproc) -parallel 4 -timeout 60m $(call below,$(STARTS_JOBS)))
	$(call STAGE,tests of the page,$(MAKE) --no-print-directory test-viewer)

.PHONY: test-viewer
test-viewer: moriens viewer/node_modules/.package-lock.json ## the page's tests, in Chromium
	cd viewer && npm run --silent test

# Without root and without MPI: minutes, once Go has built what it needs.
.PHONY: quick
quick: ## format, vet, lint, layout, generated code and the pure tests: two minutes, without root and MPI
	@$(NEED) build
	@$(MAKE) --no-print-directory $(JOBS) quick-format quick-lint quick-generated
	$(call STAGE,pure tests,go test -tags quick -vet=off $(call below,$(filter-out $(REAL),$(TESTED))))

.PHONY: quick-format quick-lint quick-generated
quick-format:
	$(call STAGE,format,test -z "$$(gofmt -l $(GO_FOLDERS) | tee /dev/stderr)")
quick-lint:
	$(call STAGE,vet and lint,go vet ./... && go vet -tags quick ./... && go tool staticcheck ./...)
quick-generated: viewer/node_modules/.package-lock.json
	$(call STAGE,the page and the documentation: lint,cd viewer && npm run --silent lint && npm run --silent docs:check)
	$(call STAGE,generated code,$(BUF) lint && $(MAKE) --no-print-directory check-generated)

# The race detector runs over all packages with tests but these. Tests that try programs, not themselves:
RACE_NOT_PROGRAMS = app/faults bench/agent bench/app bench/ingest bench/shim cmd/moriens cshim deploy/modulefile deploy/slurm internal/layout internal/shmabi internal/slurmtest
# Packages that start no goroutine, have none started, share nothing and do without unsafe, as internal/layout sees to:
RACE_NOT_NEEDED = agent/burst agent/message analysis/cell analysis/fidelity analysis/moment app/export app/job app/points \
	cmd/moriens-otf2 collector/health cshim/gen internal/anchor internal/files internal/mix internal/mpicall internal/plain internal/section internal/segment \
	internal/ticks internal/units trace/calltree trace/csv trace/folded trace/hatchet trace/pack trace/palette trace/perfetto trace/pprof trace/tauprofile
RACE_NOT = $(RACE_NOT_PROGRAMS) $(RACE_NOT_NEEDED)
RACE     = $(filter-out $(RACE_NOT),$(TESTED))
# Tests that take long, and whose goroutines other tests start too.
RACE_SKIP = TestSampleHasTheFinalClusters TestStormOfRequests TestPlantedHalo TestUnderMPI TestUnderSlurm TestStrangeLauncher TestManyClusters TestDamage TestTooMuchToCompare TestGridIsTheTree \
	TestClusterAtTheThreshold TestKDistanceOfManyPoints TestTargets TestManyGroupsOfOneBurst TestDamagedIterationsBeginAtTheirCalls TestStepsBetweenDelimiters \
	TestPhasesBetweenDelimiters TestSizeHardlyGrows TestLongestPeriod TestSymmetricLabels TestStateLargerThanTheSpool TestPrint \
	TestPrintOfARealTrace TestPrintOfARealTraceShuffled TestTeamEpoch TestEpochOnATeam TestExpansion TestRewritesRealTraces TestTypesOfSection \
	TestManyEpsOfManyPoints TestWeightedIsTheReference TestShuffledDoesNotDepend TestAutoFilterDoesNotDependOnLength TestMembersDoNotMatterToManyBursts \
	TestWindowsOfNoisyRuns TestEmptyObjects TestCostOfCallPaths TestBudget
space := $(subst ,, )

# What Go has built in one checkout it takes in another, too.
check: export GOFLAGS := $(strip $(shell go env GOFLAGS) -trimpath)
.PHONY: check
check: ## what CI runs: all of quick, sanitizers, fuzzing, the race detector, every test
	@$(NEED) check
	@$(MAKE) --no-print-directory quick-format quick-lint quick-generated
	$(call STAGE,vet and lint with tags,$(CHECK_TAGS))
	$(call STAGE,the library under sanitizers,$(MAKE) --no-print-directory $(JOBS) -C cshim asan tsan analyze)
	$(call STAGE,fuzzing,$(MAKE) --no-print-directory fuzz)
	$(call STAGE,race detector,go test -vet=off -race -short -p $$(($$(nproc) + 1)) -parallel 8 -timeout 30m -skip '^($(subst $(space),|,$(strip $(RACE_SKIP))))$$' $(call below,$(filter $(WAITING) app/doctor,$(RACE)) $(filter-out $(WAITING) app/doctor,$(RACE))))
	@$(MAKE) --no-print-directory test

define CHECK_TAGS
go vet -tags otf2 ./trace/otf2 ./cmd/moriens-otf2; \
	go tool staticcheck -tags otf2 ./trace/otf2 ./cmd/moriens-otf2; \
	gcc -std=c11 -Wall -Wextra -Werror -fsyntax-only trace/otf2/archive.c; \
	go vet -tags mpi ./internal/mpix ./cmd/moriens; \
	go tool staticcheck -tags mpi ./internal/mpix ./cmd/moriens; \
	for cc in mpicc.openmpi mpicc.mpich; do $$cc -std=c11 -O2 -Wall -Wextra -Werror -fsyntax-only internal/mpix/job.c || exit 1; done
endef

# For tests: the words of a variable of this file.
print-%:
	@echo $($*)

# Package, function, and how often make check calls it: 30 s of a core for what comes over the network or from files that a process has left, 5 s for
# the rest. Times a function is called, not seconds: where seconds run out Go before 1.27 may end with "context deadline exceeded", though nothing was
# found (https://go.dev/issue/75804). An input on which a reader never returns is found without: Go gives each call ten seconds.
FUZZ_TARGETS = \
	agent/cells.FuzzAnswer/75000x collector/cells.FuzzTake/95000x collector/cells.FuzzTeam/9000x collector/store.FuzzApply/45000x collector/journal.FuzzJournal/6500x agent/spool.FuzzOutbox/3600x internal/segment.FuzzOpen/13500x internal/section.FuzzSection/60000x internal/rendezvous.FuzzRead/20000x \
	analysis/program.FuzzRead/20000x agent/ring.FuzzRing/4000x agent/ring.FuzzProcess/5000x agent/message.FuzzRestore/15000x agent/window.FuzzFiles/600x agent/symbol.FuzzResolve/20000x agent/code.FuzzCode/20000x \
	conclude/rebuild.FuzzMeaning/5000x app/points.FuzzRead/13000x trace/overview.FuzzRead/30000x trace/page.FuzzOpen/600x trace/prv.FuzzRead/2000x \
	trace/rundir.FuzzReadRun/1000x trace/rundir.FuzzAfford/10000x trace/rundir.FuzzCallPaths/11000x trace/parquet.FuzzRead/5000x trace/parquet.FuzzWaits/4000x trace/parquet.FuzzPairs/4000x
FUZZ_CALLS = $(FUZZ_TARGETS:%=fuzz/%)

.PHONY: fuzz $(FUZZ_CALLS)
fuzz: ## fuzz whatever reads bytes from outside: shared memory, files, messages; as often as make check does, or for FUZZ=150s each
	@$(MAKE) --no-print-directory $(JOBS) $(FUZZ_CALLS)
$(FUZZ_CALLS): fuzz/%:
	go test ./$(basename $(*D)) -run '^$$' -fuzz '^$(subst .,,$(suffix $(*D)))$$' -parallel 1 -fuzztime $(or $(FUZZ),$(*F)) -fuzzminimizetime 100x

ROUNDS    ?= 300
SOAK_SEED ?= 0

.PHONY: soak
soak: ## ROUNDS=300 rounds of real jobs to which faults happen, from number SOAK_SEED=0 on, 20 runs each of programs that call MPI fastest and of one whose kinds are known, what is found of what is planted in testdata/programs, in 33 ways to compile and run them, into docs/soak.md, and 10,000 programs at random; with FUZZ=150s also fuzz (an hour or two)
	@$(NEED) test
	@$(MAKE) --no-print-directory build
	go test -vet=off -count 1 -timeout 24h ./app/faults -run '^TestSoak$$' -v -soak $(ROUNDS) -soak-seed $(SOAK_SEED) -soak-table $(CURDIR)/docs/soak.md
	go test -vet=off -count 1 -timeout 24h ./cmd/moriens -run '^(TestNothingLost|TestKindsJob|TestKindsOfCellsJob)$$' -v -runs 20 -runs-table $(CURDIR)/docs/soak.md
	go test -vet=off -count 1 -timeout 24h ./analysis/program -run '^TestDrawn' -v -rapid.checks=10000
	go test -vet=off -count 1 -timeout 24h ./cmd/moriens -run '^TestPlantedVariants$$' -v -variants -runs-table $(CURDIR)/docs/soak.md
	$(if $(FUZZ),@$(MAKE) --no-print-directory fuzz FUZZ=$(FUZZ))

.PHONY: bench-shim
bench-shim: ## what the library adds to MPI calls, under both MPIs (minutes)
	@$(NEED) test
	@$(MAKE) --no-print-directory build
	go run ./bench/shim

.PHONY: bench-app
bench-app: ## how much slower LAMMPS and a halo exchange are under moriens (minutes)
	@$(NEED) test
	@$(MAKE) --no-print-directory build
	go run ./bench/app

.PHONY: bench-agent
bench-agent: moriens ## what a node's agent takes, with 1, 4, 16 and 64 ranks (minutes)
	go run ./bench/agent

.PHONY: bench-log
bench-log: ## what an agent does with calls, from the slots of their ring to the disk: ns a call of three programs (a minute)
	go test ./agent -run '^$$' -bench Log -benchtime 300x -count 5

.PHONY: bench-ingest
bench-ingest: moriens ## how many bursts a collector takes, from the streams of 1, 100 and 1,000 nodes (minutes)
	go run ./bench/ingest

.PHONY: bench-viewer
bench-viewer: moriens viewer/node_modules/.package-lock.json ## what the page takes with 1,000,000 bursts, and with a run of 1,024 ranks (minutes)
	dir=$$(mktemp -d) && trap 'rm -rf '$$dir EXIT && \
	go run ./bench/end -one -bursts 10240000 -ranks 1024 -counters -dir $$dir >/dev/null && \
	bin/moriens report $$dir && \
	cd viewer && REPORT=$$dir/report.html npx vitest run --config bench/vitest.config.ts

.PHONY: bench-moriens
bench-moriens: ## what the end of a run takes, stage by stage, for up to 10,000,000 bursts of 10,000 simulated ranks (minutes)
	go run ./bench/end

.PHONY: bench-efficiency
bench-efficiency: moriens ## what `moriens efficiency` takes for runs of 10,000 ranks, and the analysis of 10,000 locations (minutes)
	go run ./bench/efficiency

.PHONY: bench-profile
bench-profile: moriens ## what `moriens profile` takes for runs of 1,000 and 10,000 ranks with 3,100,000 rows; BEFORE=PROGRAM measures an earlier version in turn (minutes)
	go run ./bench/profile $(if $(BEFORE),-before $(BEFORE))

.PHONY: bench-pairs
bench-pairs: ## what linkage, placement and lines of `moriens pairs` take, beside scipy, METIS and Scotch where they are (a minute)
	go run ./bench/pairs

.PHONY: bench-mpi
bench-mpi: ## DBSCAN by 1, 2 and 4 members, processes under Open MPI and goroutines: seconds by stage, bytes exchanged (minutes)
	@$(NEED) test
	$(call MPI_ENV,ompi) go build -tags mpi -o build/bench-mpi ./bench/mpi
	build/bench-mpi

BENCH_SUITE ?= ../shared/bench

.PHONY: bench-dbscan
bench-dbscan: moriens ## DBSCAN beside two prototypes, from BENCH_SUITE, on the same points, insertion, several Eps (minutes)
	go run ./bench/dbscan -suite $(BENCH_SUITE)

.PHONY: bench
bench: ## the Go benchmarks, in the form benchstat reads
	go test -run '^$$' -bench . -count 6 ./analysis/...

.PHONY: generate
generate: viewer ## write generated code and pages
	go generate ./...
	$(BUF) generate

.PHONY: check-generated
check-generated:
	@before=$$(mktemp); trap 'rm -f '$$before EXIT; \
	git ls-files -z --cached --others --exclude-standard | xargs -0 sha256sum 2>/dev/null >$$before; \
	$(MAKE) --no-print-directory generate; \
	sha256sum --quiet --check $$before

# The tests that check a summary, and record its run.
SUMMARISED = TestLAMMPS TestHPCC TestQuantumESPRESSO TestPythonSolver TestPlantedImbalance TestNoMPI

.PHONY: record-summaries
record-summaries: ## run the programs of app/console/testdata/summaries, and record their run directories and summaries again (minutes)
	@$(NEED) test
	go test -vet=off -count 1 ./cmd/moriens -run '^($(subst $(space),|,$(SUMMARISED)))$$' -record
	go test -vet=off -count 1 ./app/console -run '^TestGoldenSummaries$$' -update

.PHONY: clean
clean: ## remove what was built
	rm -rf bin build
