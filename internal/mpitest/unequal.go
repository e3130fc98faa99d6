package mpitest

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A Span is a time, in ns of some clock.
type Span struct{ Begin, End int64 }

// A Worker is a thread of the mini-app unequal.
type Worker struct{ Rank, Thread int }

// Work has the times at which the threads of the mini-app unequal were between two MPI calls, as they say themselves.
type Work map[Worker][]Span

// ReadWork reads it from the directory that was their MINIAPP_OUT.
func ReadWork(t testing.TB, dir string) Work {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "work.*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no work in %s: %v", dir, err)
	}
	work := make(Work)
	for _, path := range paths {
		var w Worker
		if _, err := fmt.Sscanf(filepath.Base(path), "work.%d.%d", &w.Rank, &w.Thread); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var s Span
			if _, err := fmt.Sscan(line, &s.Begin, &s.End); err != nil {
				t.Fatalf("%s: %q: %v", path, line, err)
			}
			work[w] = append(work[w], s)
		}
	}
	return work
}

// Compare compares a thread's times with its recorded bursts, which are in order and by another clock. There are as
// many, and each has what the program says: the library reads its clock before the program reads its own, and after.
// And each ends before the next one of the program begins, and begins after the one before has ended. A thread may lose
// its core between two readings: where a burst is longer by more than slack ns, it is put in the place of the program's
// time. That is not so of all: what each has too much is no matter of the machine's load.
func (work Work) Compare(t testing.TB, w Worker, startNS, durationNS []int64, slack int64) {
	t.Helper()
	own := work[w]
	if len(own) != len(startNS) || len(own) == 0 {
		t.Fatalf("%+v: %d bursts, the program was between two calls %d times", w, len(startNS), len(own))
	}
	shift := int64(math.MaxInt64)
	for i, s := range own {
		shift = min(shift, s.Begin-startNS[i]) // where least was between the two readings
	}
	said, longer := slices.Clone(own), 0
	drift := func(ns int64) int64 { return ns/1000 + 1000 } // of two clocks
	for i, s := range said {
		length, recorded := s.End-s.Begin, durationNS[i]
		begin, end := startNS[i]+shift, startNS[i]+recorded+shift
		if recorded < length-drift(length) {
			t.Errorf("%+v: burst %d has %d ns, the program says %d", w, i, recorded, length)
		}
		slip := drift(s.End - said[0].Begin)
		if i > 0 && begin < said[i-1].End-slip || i+1 < len(said) && end > said[i+1].Begin+slip {
			t.Errorf("%+v: burst %d is from %d to %d, the program's is %+v, and has others beside it", w, i, begin, end, s)
		}
		if recorded > length+slack {
			own[i] = Span{begin, end}
			longer++
		}
	}
	if longer > 1 && longer == len(own) {
		t.Errorf("%+v: all %d bursts are longer than the program says by more than %d ns", w, longer, slack)
	}
}

// WorkFactors are the factors of docs/efficiency.md, from the last end of MPI_Init to the first begin of MPI_Finalize.
type WorkFactors struct {
	Parallel, Balance, InNodes, BetweenNodes, Communication float64
	ComputingNS                                             map[Worker]int64
	Most                                                    Worker // who computes most
}

// Factors computes them by their definitions; node is that of a rank.
func (work Work) Factors(node func(rank int) string) *WorkFactors {
	begin, end := int64(math.MinInt64), int64(math.MaxInt64)
	for w, own := range work {
		if w.Thread == 0 {
			begin, end = max(begin, own[0].Begin), min(end, own[len(own)-1].End)
		}
	}
	f := &WorkFactors{ComputingNS: make(map[Worker]int64)}
	sum, nodes := 0., make(map[string][]float64)
	for w, own := range work {
		for _, s := range own {
			f.ComputingNS[w] += max(0, min(s.End, end)-max(s.Begin, begin))
		}
		u := float64(f.ComputingNS[w])
		sum += u
		nodes[node(w.Rank)] = append(nodes[node(w.Rank)], u)
	}
	workers := make([]Worker, 0, len(work))
	for w := range work {
		workers = append(workers, w)
	}
	f.Most = slices.MaxFunc(workers, func(a, b Worker) int { return cmp.Compare(f.ComputingNS[a], f.ComputingNS[b]) })
	largest := 0.
	for _, list := range nodes {
		total := 0.
		for _, u := range list {
			total += u
		}
		largest = max(largest, total/float64(len(list)))
	}
	mean, most, elapsed := sum/float64(len(work)), float64(f.ComputingNS[f.Most]), float64(end-begin)
	f.Parallel, f.Balance, f.Communication = mean/elapsed, mean/most, most/elapsed
	f.InNodes, f.BetweenNodes = largest/most, mean/largest
	return f
}
