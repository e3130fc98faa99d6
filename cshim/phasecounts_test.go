package cshim_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"moriens/agent/ring"
	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

// TestCountsAtMarks has a program count for itself: begins and ends of phases have what the burst had counted until
// then, where that is asked for, and the burst's own counts are the same with and without. Events have no counts.
func TestCountsAtMarks(t *testing.T) {
	testenv.NeedFile(t, "/usr/include/sde_lib.h")
	library := mpitest.Library(t)
	const rounds = 40
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		app := mpi.App(t, "phasecounts", "-I"+include(t), "-lsde")
		for _, option := range []string{"", "0", "1"} {
			o := job{mpi: mpi, preload: library, program: []string{app, fmt.Sprint(rounds)},
				env: []string{"MORIENS_PHASE_COUNTERS=" + option, "MORIENS_EVENTS=sde:::planted::INS,sde:::planted::CYC"}}.run(t)
			succeed(t, o)
			for rank, p := range expectExact(t, o) {
				var bursts, want [][]int64
				for i, rec := range p.threads[0][2 : 2+rounds] { // MPI_Init and MPI_Recv come first
					bursts = append(bursts, rec.Counts)
					if i > 0 && len(rec.Counts) == 0 {
						t.Fatalf("rank %d: burst %d has no counts", rank, i)
					}
					want = append(want, []int64{1_000_007, 101})
				}
				if d := cmp.Diff(want, bursts); d != "" {
					t.Errorf("rank %d: bursts counted\n%s", rank, d)
				}
				var marks, wantMarks [][]int64
				for _, rec := range p.marks[0][:5*rounds] {
					marks = append(marks, rec.Counts)
				}
				for range rounds {
					if option == "1" { // begin small, event, end small, begin large, end large
						wantMarks = append(wantMarks, []int64{5, 1}, nil, []int64{1_000_005, 11}, []int64{1_000_005, 11}, []int64{1_000_005, 101})
					} else {
						wantMarks = append(wantMarks, nil, nil, nil, nil, nil)
					}
				}
				if d := cmp.Diff(wantMarks, marks, cmpopts.EquateEmpty()); d != "" {
					t.Errorf("MORIENS_PHASE_COUNTERS=%s, rank %d: marks counted\n%.2000s", option, rank, d)
				}
				if last := p.marks[0][5*rounds:]; len(last) != 2 || option != "1" && len(last[0].Counts)+len(last[1].Counts) > 0 {
					t.Errorf("rank %d: the last phase: %+v", rank, last)
				}
			}
		}
	})
}

// TestCountsAtMarksOfThreads has threads that call nothing but marks: no burst of theirs is known, and marks have no
// counts.
func TestCountsAtMarksOfThreads(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		o := job{mpi: mpi, preload: library, program: []string{annotated(t, mpi, "annotate"), "threads", "200", "4"},
			env: []string{"MORIENS_PHASE_COUNTERS=1", "MORIENS_EVENTS=sw:cpu-time"}}.run(t)
		succeed(t, o)
		for rank, p := range expectExact(t, o) {
			for thread := 1; thread < len(p.threads); thread++ {
				if len(p.marks[thread]) != 800 || slices.ContainsFunc(p.marks[thread], func(r ring.Record) bool { return len(r.Counts) > 0 }) {
					t.Errorf("rank %d thread %d: %d marks, %+v first", rank, thread, len(p.marks[thread]), p.marks[thread][0])
				}
			}
		}
	})
}

// TestNothingToCountAtMarks: the option without events has no effect, which is said.
func TestNothingToCountAtMarks(t *testing.T) {
	library := mpitest.Library(t)
	mpi := mpitest.MPI(mpitest.OpenMPI)
	o := job{mpi: mpi, preload: library, ranks: 1, program: []string{annotated(t, mpi, "annotate"), "nest", "3"},
		env: []string{"MORIENS_PHASE_COUNTERS=7", "MORIENS_EVENTS=none"}}.run(t)
	succeed(t, o)
	if p := expectExact(t, o)[0]; !slices.Equal(p.notes, []string{"MORIENS_PHASE_COUNTERS: no effect, nothing is counted"}) || len(p.marks[0]) == 0 {
		t.Errorf("notes %q, %d marks", p.notes, len(p.marks[0]))
	}
}
