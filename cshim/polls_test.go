package cshim_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpicall"
	"moriens/internal/mpitest"
)

// pollCalls are the functions that testdata/miniapp/polls.c polls without success, in its order.
var pollCalls = []mpicall.ID{
	mpicall.Test, mpicall.Testall, mpicall.Testany, mpicall.Testsome, mpicall.RequestGetStatus, mpicall.Iprobe, mpicall.Improbe,
}

// A step is a record without its times: its calls by function, in the order of their places in the program.
type step []calls

type calls struct {
	Call  mpicall.ID
	Count uint64
}

func steps(p *process) []step {
	var list []step
	for _, rec := range p.threads[0] {
		s := step{{rec.Call, 1}}
		for _, polls := range rec.Polls {
			if polls.Call == rec.Call && polls.Path == rec.Path {
				s[0].Count += polls.Count
			} else {
				s = append(s, calls{polls.Call, polls.Count})
			}
		}
		list = append(list, s)
	}
	return list
}

func one(id mpicall.ID) step { return step{{id, 1}} }

// pollEach runs the mini-app's polls of every kind, 100 of each, until no interruption of the process has made them
// last nearly as long as a run of polls may: a tenth of a second.
func pollEach(t *testing.T, j job) outcome {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; {
		o := j.run(t)
		succeed(t, o)
		text, err := os.ReadFile(filepath.Join(o.out, "took.0"))
		if err != nil {
			t.Fatal(err)
		}
		ns, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Duration(ns); took < 90*time.Millisecond {
			return o
		} else if time.Now().After(deadline) {
			t.Fatalf("the polls take %v", took)
		}
	}
}

// TestPollsAreOneRecord has every polling function fail a hundred times, with so long a gap that only a poll
// that finds something ends the run.
func TestPollsAreOneRecord(t *testing.T) {
	const n = 100
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		o := pollEach(t, job{mpi: mpi, preload: library, ranks: 1, env: []string{"MORIENS_POLL_GAP=1000000"}, program: []string{mpi.App(t, "polls"), "each", "100"}})
		ranks := expectExact(t, o)
		expectEnded(t, ranks)
		var run step
		for _, id := range append(pollCalls, mpicall.Test) {
			run = append(run, calls{id, n})
		}
		want := []step{one(mpicall.InitThread), one(mpicall.Irecv), run, one(mpicall.Test), one(mpicall.Finalize)}
		if diff := cmp.Diff(want, steps(ranks[0])); diff != "" {
			t.Error(diff)
		}
	})
}

// TestPollsApart has no two polls near enough: each is a record of its own.
func TestPollsApart(t *testing.T) {
	const n = 300
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		o := job{mpi: mpi, preload: library, ranks: 1, env: []string{"MORIENS_POLL_GAP=0"}, program: []string{mpi.App(t, "polls"), "each", "300"}}.run(t)
		succeed(t, o)
		ranks := expectExact(t, o)
		if got, want := len(ranks[0].threads[0]), 8*n+4; got != want {
			t.Errorf("%d records, want %d", got, want)
		}
	})
}

// TestPollsBetweenComputation: a gap above the limit is a burst, and no test between two is lost in a run.
func TestPollsBetweenComputation(t *testing.T) {
	const n = 200
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		o := job{mpi: mpi, preload: library, ranks: 1, program: []string{mpi.App(t, "polls"), "compute", "200", "100"}}.run(t)
		succeed(t, o)
		p := expectExact(t, o)[0]
		want := []step{one(mpicall.InitThread), one(mpicall.Irecv)}
		for range n {
			want = append(want, one(mpicall.Test))
		}
		want = append(want, one(mpicall.Cancel), one(mpicall.Wait), one(mpicall.Finalize))
		if diff := cmp.Diff(want, steps(p)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestPollsOfTheDead: a run that was never published is read with its count.
func TestPollsOfTheDead(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, n := range []int{1, 2, 5000} {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				o := job{mpi: mpi, preload: library, ranks: 1, program: []string{mpi.App(t, "polls"), "die", fmt.Sprint(n)}}.run(t)
				p := expectExact(t, o)[0]
				if len(p.unfinished) != 0 || p.threads[0][len(p.threads[0])-1].Call != mpicall.Iprobe {
					t.Errorf("unfinished %v", p.unfinished)
				}
			})
		}
	})
}

// TestPollsOfTheKilled kills a program at an arbitrary moment of its polling.
func TestPollsOfTheKilled(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		app := mpi.App(t, "polls")
		for i := range 3 {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				o := job{mpi: mpi, preload: library, ranks: 1, out: dir, program: []string{app, "inside"}}.run(t)
				ranks, _ := read(t, o.dir)
				p := ranks[0]
				content, err := os.ReadFile(filepath.Join(dir, "polling.0"))
				if err != nil {
					t.Fatal(err)
				}
				begun, returned := int(binary.NativeEndian.Uint64(content)), int(binary.NativeEndian.Uint64(content[8:]))
				recorded := p.calls()["MPI_Iprobe"]
				if p.dropped != 0 || recorded < returned || recorded+len(p.unfinished) > begun || returned < 1000 {
					t.Errorf("recorded %d and %v, dropped %d; the program began %d and got %d back", recorded, p.unfinished, p.dropped, begun, returned)
				}
			})
		}
	})
}

// TestPollsOfAPool: a run of a thread that sleeps while MPI is finalised by another.
func TestPollsOfAPool(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		o := job{mpi: mpi, preload: library, ranks: 1, program: []string{mpi.App(t, "polls"), "pool", "1000"}}.run(t)
		succeed(t, o)
		expectExact(t, o)
	})
}
